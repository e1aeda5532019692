#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "relucent/config.h"
#include "server/http.h"

namespace relucent::server {

/// An HTTP/1.1 server. One thread reads, writes and calls the functions below; they must not block. Computation belongs
/// into other threads, which call HttpExchange::answer(); they may do so after the server's end. What all connections
/// hold is bounded: `connections` times a few `header_bytes`, and bodies of `kHeldBodies` times `body_bytes`.
class HttpServer {
 public:
  /// Bodies of full length that are held at a time; a request with one more is refused with 429.
  static constexpr std::size_t kHeldBodies = 4;

  struct Callbacks {
    /// Called with the line and the headers before a body is read; what it returns is the answer, and no body is read.
    std::function<std::optional<HttpResponse>(const HttpRequest& head)> judge;
    /// Called with the others, when they are complete.
    std::function<void(std::shared_ptr<HttpExchange>)> handle;
    /// What was answered, also to what never became a request: then method and path may be empty. `cut`: the client did
    /// not get it all.
    std::function<void(const HttpRequest&, const HttpResponse&, bool cut)> finished;
    std::function<void(int signal)> signal;        ///< SIGINT, SIGTERM or SIGHUP arrived
    std::function<void(std::size_t open)> opened;  ///< the number of connections has changed
    std::function<void()> tick;                    ///< every 20 ms
  };

  /// Starts to listen. Throws Error `io` if the address cannot be used, `usage` if it is not an address.
  HttpServer(const ServerConfig& settings, Callbacks callbacks);
  ~HttpServer();

  std::uint16_t port() const noexcept;
  /// Serves until drain() or stop() has ended it. An exception, for example for lack of memory, costs at most the
  /// connection that met it.
  void run();
  /// Accepts no further connection, closes those without a request, and ends when all others have their answers, or
  /// after drain_timeout. Call it from a callback.
  void drain();
  /// Ends immediately; exchanges that are under way are told that their clients are gone. Call it from a callback.
  void stop();
  /// How many requests ended without an answer because of stop() or drain_timeout.
  std::size_t dropped() const noexcept;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent::server
