#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/trace.h"

namespace relucent::server {

/// A request as it arrived, within the limits of [server].
struct HttpRequest {
  std::string method, path;                    ///< path: without the query part, not decoded
  std::string query;                           ///< the query part, after the question mark, not decoded
  std::map<std::string, std::string> headers;  ///< names in lower case; of several with one name usually the first
  std::string body;
  std::string address;                            ///< of the client's end of the connection
  std::chrono::steady_clock::time_point arrived;  ///< its first byte
  std::optional<TraceContext> trace = {};         ///< of the client; null: it names none

  /// The header's value; empty if there is none.
  std::string_view header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// For the access log, by name: counts, and for example milliseconds in the queue.
  std::vector<std::pair<std::string, std::variant<std::int64_t, double>>> measures = {};
  std::string note = {};  ///< for the access log: what went wrong
  /// What computing it took, in order, by names of static storage.
  std::vector<std::pair<std::string_view, std::chrono::nanoseconds>> steps = {};
  std::optional<TraceContext> trace = {};  ///< that begins with the request, which names none
};

/// A request that waits for its answer. answer() may be called from any thread, once; if it never is, the client gets
/// an error when the last owner lets go.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;
  /// A stop is requested when the client has closed the connection, or the server ends without waiting for it.
  virtual std::stop_token gone() const = 0;
  virtual void answer(HttpResponse response) = 0;
};

}  // namespace relucent::server
