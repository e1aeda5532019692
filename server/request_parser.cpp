#include "server/request_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "server/refusal.h"

namespace relucent::server {
namespace {

constexpr std::size_t kMaxFields = 100;
constexpr int kMaxSizeDigits = 8;
constexpr std::string_view kBlanks = " \t";
// Two of these would be read differently by different programs.
constexpr std::array<std::string_view, 7> kSingle = {
    "authorization", "content-length", "content-type", "host", "origin", "transfer-encoding", "x-request-timeout-ms"};

Refusal bad(std::string_view what) {
  return {400, "Validation", fmt::format("this is not a valid HTTP/1.1 request: {}", what)};
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_control(char c) noexcept { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; }

/// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_digit(c) || is_letter(c) || others.find(c) != std::string_view::npos;
  });
}

/// Whether a list separated by commas contains `item`, which is in lower case.
bool has_item(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (lower_ascii(trim(list.substr(0, comma), kBlanks)) == item) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

int hex_digit(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

RequestParser::RequestParser(const ServerConfig& limits, HttpRequest& request, MayHold may_hold)
    : limits_(limits), request_(request), may_hold_(std::move(may_hold)) {}

std::size_t RequestParser::take(std::string_view bytes) {
  if (state_ == State::head) return take_head(bytes);
  const std::size_t used = take_content(bytes);
  taken_ += used;
  // Chunks of a few bytes with long extensions would never end.
  if (taken_ > static_cast<std::size_t>(limits_.header_bytes) + 2 * static_cast<std::size_t>(limits_.body_bytes)) {
    throw too_much("the request consists of too many chunks, chunk extensions or trailers");
  }
  return used;
}

std::size_t RequestParser::take_head(std::string_view bytes) {
  const auto limit = static_cast<std::size_t>(limits_.header_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if ((c == '\n') != head_.ends_with('\r')) throw bad("each line must end with CR LF");
    if (is_control(c) && c != '\r' && c != '\n') throw bad("a control character");
    if (head_.size() == limit) {
      throw Refusal(431, "Validation",
                    fmt::format("the headers are longer than {} bytes ([server] header_bytes)", limit));
    }
    head_ += c;
    if (head_.ends_with("\r\n\r\n")) {
      taken_ = head_.size();
      read_head();
      head_ = {};
      return i + 1;
    }
  }
  return bytes.size();
}

void RequestParser::read_head() {
  std::string_view rest = head_;
  rest.remove_suffix(2);
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = rest.find("\r\n");
    first ? read_line(rest.substr(0, end)) : read_field(rest.substr(0, end));
    rest.remove_prefix(end + 2);
  }
  read_framing();
  request_.trace = parse_trace(request_.header("traceparent"), request_.header("tracestate"));
  if (!old_version_ && !request_.headers.contains("host")) throw bad("the header host is missing");
}

void RequestParser::read_line(std::string_view line) {
  const std::size_t method = line.find(' ');
  const std::size_t target = line.rfind(' ');
  if (method == std::string_view::npos || target == method) throw bad("the first line");
  request_.method = line.substr(0, method);
  const std::string_view path = line.substr(method + 1, target - method - 1);
  const std::string_view version = line.substr(target + 1);
  const bool visible = std::ranges::all_of(path, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_token(request_.method) || path.empty() || !visible) throw bad("the first line");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") throw bad("the version");
  old_version_ = version == "HTTP/1.0";
  const std::size_t query = path.find('?');
  request_.path = path.substr(0, query);
  if (query != std::string_view::npos) request_.query = path.substr(query + 1);
}

void RequestParser::read_field(std::string_view line) {
  if (++fields_ > kMaxFields) {
    throw Refusal(431, "Validation", fmt::format("the request has more than {} headers", kMaxFields));
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) throw bad("the name of a header");
  std::string name = lower_ascii(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1), kBlanks);
  if ((name == "connection" || name == "tracestate") && request_.headers.contains(name)) {
    request_.headers[name] += fmt::format(",{}", value);
    return;
  }
  if (name == "traceparent" && request_.headers.contains(name)) {
    request_.headers[name] = {};  // two are not valid
    return;
  }
  const auto [place, is_new] = request_.headers.emplace(std::move(name), value);
  if (!is_new && std::ranges::find(kSingle, place->first) != kSingle.end()) {
    throw bad(fmt::format("two headers {}", place->first));
  }
}

/// Where the request ends, and what follows it.
void RequestParser::read_framing() {
  const auto& headers = request_.headers;
  const std::string_view connection = request_.header("connection");
  keep_alive_ = !has_item(connection, "close") && (!old_version_ || has_item(connection, "keep-alive"));
  waits_to_continue_ = !old_version_ && lower_ascii(request_.header("expect")) == "100-continue";

  const auto coding = headers.find("transfer-encoding");
  const auto length = headers.find("content-length");
  if (coding != headers.end()) {
    if (old_version_) throw bad("HTTP/1.0 has no transfer-encoding");
    if (length != headers.end()) throw bad("content-length and transfer-encoding");
    if (lower_ascii(coding->second) != "chunked") throw bad("the only transfer-encoding is chunked");
    state_ = State::chunk_size;
    return;
  }
  if (length != headers.end()) remaining_ = content_length(length->second);
  state_ = remaining_ == 0 ? State::complete : State::body;
}

std::uint64_t RequestParser::content_length(std::string_view digits) const {
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) throw bad("content-length");
  std::uint64_t length = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (problem != std::errc() || length > static_cast<std::uint64_t>(limits_.body_bytes)) throw body_too_long();
  return length;
}

Refusal RequestParser::body_too_long() const {
  return too_much(fmt::format("the body is longer than {} bytes ([server] body_bytes)", limits_.body_bytes));
}

void RequestParser::expect_body() {
  if (state_ == State::body) grow_body(static_cast<std::size_t>(remaining_));
}

void RequestParser::grow_body(std::size_t bytes) {
  if (bytes <= request_.body.capacity()) return;
  if (!may_hold_(bytes)) {
    throw Refusal(429, "Overloaded", "the requests that are waiting have too many bytes");
  }
  request_.body.reserve(bytes);
}

std::size_t RequestParser::take_content(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::complete) {
    if (state_ != State::body && state_ != State::chunk) {
      take_framing(bytes[used++]);
      continue;
    }
    const auto part = bytes.substr(used, static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size())));
    const std::size_t size = request_.body.size() + part.size();
    if (size > request_.body.capacity()) {
      grow_body(std::min(std::max(size, 2 * request_.body.capacity()), static_cast<std::size_t>(limits_.body_bytes)));
    }
    request_.body += part;
    used += part.size();
    remaining_ -= part.size();
    if (remaining_ == 0) state_ = state_ == State::body ? State::complete : State::chunk_end;
  }
  return used;
}

/// One byte between the parts of a chunked body.
void RequestParser::take_framing(char c) {
  const auto require = [&](char wanted, State next) {
    if (c != wanted) throw bad("a chunk");
    state_ = next;
  };
  switch (state_) {
    case State::chunk_size: {
      const int digit = hex_digit(c);
      if (digit >= 0) {
        if (++size_digits_ > kMaxSizeDigits) throw bad("the size of a chunk");
        chunk_size_ = chunk_size_ * 16 + static_cast<std::uint64_t>(digit);
        return;
      }
      if (size_digits_ == 0) throw bad("the size of a chunk");
      if (c == ';') {
        state_ = State::chunk_extension;
        return;
      }
      return require('\r', State::chunk_size_end);
    }
    case State::chunk_extension:
      if (c == '\r') {
        state_ = State::chunk_size_end;
      } else if (is_control(c)) {
        throw bad("the extension of a chunk");
      }
      return;
    case State::chunk_size_end: require('\n', State::chunk); return end_of_size();
    case State::chunk_end: return require('\r', State::chunk_end_feed);
    case State::chunk_end_feed: return require('\n', State::chunk_size);
    case State::trailer_begin:
    case State::trailer:
      if (c == '\r') {
        state_ = state_ == State::trailer ? State::trailer_end : State::last_feed;
      } else if (is_control(c)) {
        throw bad("a trailer");
      } else {
        state_ = State::trailer;
      }
      return;
    case State::trailer_end: return require('\n', State::trailer_begin);
    case State::last_feed: return require('\n', State::complete);
    case State::head:
    case State::body:
    case State::chunk:
    case State::complete: return;
  }
}

void RequestParser::end_of_size() {
  remaining_ = std::exchange(chunk_size_, 0);
  size_digits_ = 0;
  content_ += remaining_;
  if (content_ > static_cast<std::uint64_t>(limits_.body_bytes)) throw body_too_long();
  if (remaining_ == 0) state_ = State::trailer_begin;
}

}  // namespace relucent::server
