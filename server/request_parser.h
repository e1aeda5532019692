#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "relucent/config.h"
#include "server/http.h"
#include "server/refusal.h"

namespace relucent::server {

/// Reads one request of HTTP/1.1 or HTTP/1.0 (RFC 9112) from the bytes of a connection. Strict: a request that two
/// programs may divide differently is refused. Keeps the line and the headers, at most `header_bytes`, and the body;
/// chunk extensions and trailers are counted and dropped, so that no header comes after the body.
class RequestParser {
 public:
  /// Asked before the body's memory grows to so many bytes. False: the request is refused.
  using MayHold = std::function<bool(std::size_t bytes)>;

  /// Writes what it reads to `request`: all but the address and the time. `limits` and `request` must outlive it.
  RequestParser(const ServerConfig& limits, HttpRequest& request, MayHold may_hold);

  /// Takes from the front of `bytes` what belongs to the request; returns how many bytes that was. Stops after the
  /// headers, so that the caller can judge them before a body is stored, and after the request. Throws Refusal: 400 for
  /// what is not HTTP, 413 and 431 for what exceeds a limit, 429 if the body may not be held.
  std::size_t take(std::string_view bytes);
  /// Makes room for a body of known length. Call it once, after the headers. Throws Refusal.
  void expect_body();

  bool has_head() const noexcept { return state_ != State::head; }
  bool complete() const noexcept { return state_ == State::complete; }
  bool keep_alive() const noexcept { return keep_alive_; }
  /// HTTP/1.0, whose clients know no interim answers.
  bool old_version() const noexcept { return old_version_; }
  /// The client waits for "100 Continue" before it sends the body.
  bool waits_to_continue() const noexcept { return waits_to_continue_; }

 private:
  enum class State : std::uint8_t {
    head,
    body,
    chunk_size,
    chunk_extension,
    chunk_size_end,  // the line feed of a size
    chunk,
    chunk_end,  // the two bytes after a chunk
    chunk_end_feed,
    trailer_begin,
    trailer,
    trailer_end,
    last_feed,  // of the empty line that ends the trailers
    complete
  };

  std::size_t take_head(std::string_view bytes);
  void read_head();
  void read_line(std::string_view line);
  void read_field(std::string_view line);
  void read_framing();
  std::uint64_t content_length(std::string_view digits) const;
  Refusal body_too_long() const;
  std::size_t take_content(std::string_view bytes);
  void take_framing(char c);
  void end_of_size();
  void grow_body(std::size_t bytes);

  const ServerConfig& limits_;
  HttpRequest& request_;
  MayHold may_hold_;
  State state_ = State::head;
  std::string head_;
  std::size_t fields_ = 0;
  std::size_t taken_ = 0;        // bytes of the request
  std::uint64_t remaining_ = 0;  // of the body, or of the chunk
  std::uint64_t content_ = 0;    // bytes in all chunks so far
  std::uint64_t chunk_size_ = 0;
  int size_digits_ = 0;
  bool keep_alive_ = true, old_version_ = false, waits_to_continue_ = false;
};

}  // namespace relucent::server
