// HTTP with libcurl: the only code that opens a connection to a hub or a collector of traces.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relucent/stop.h"

namespace relucent::index_tools {

/// The head of an answer. Names of headers are in lower case; of several with one name the last one counts.
struct HttpHead {
  int status = 0;
  std::map<std::string, std::string> headers;

  /// Empty if there is no such header.
  std::string header(const std::string& name) const;
};

/// A connection that ended before the answer did, or was never made: trying again may help.
struct CutConnection {
  std::string problem;
};

/// Throws Error `usage` naming `place` unless the URL is https, or http to this machine: nothing else may carry a token
/// or a model.
void require_safe_url(const std::string& url, const std::string& place);

/// One thread at a time.
class HttpClient {
 public:
  /// `token`: sent to the origin of `endpoint` alone, whatever redirects to another host; empty: none.
  HttpClient(const std::string& endpoint, std::string token);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Takes parts of a body with status 200 or 206. Bodies of other answers are not shown.
  using Take = std::function<void(const HttpHead& head, std::string_view bytes)>;
  /// Gets a URL from byte `offset` on, as far as the server can do that: 206 if so, 200 for the whole. Follows
  /// redirects. Throws CutConnection; Error: `io` for a redirect to an unsafe URL or too many of them, `interrupted`;
  /// whatever `take` throws.
  HttpHead get(const std::string& url, std::uint64_t offset, const Take& take, const StopSignal& stop);

  /// A part of a URL's path, quoted.
  std::string quoted(const std::string& part) const;

 private:
  struct Transfer;
  HttpHead get_once(const std::string& url, std::uint64_t offset, const Take& take, const StopSignal& stop);

  void* curl_;
  std::string origin_, token_;
};

/// HTTP POST of JSON with libcurl, to one URL. One thread at a time.
class HttpPost {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  /// Throws Error `unsupported` if libcurl is not installed.
  HttpPost(std::string url, Headers headers);
  ~HttpPost();
  HttpPost(const HttpPost&) = delete;
  HttpPost& operator=(const HttpPost&) = delete;

  /// Why no answer with a status from 200 to 299 came; empty if one did. Follows no redirects, and reads no answer.
  std::string send(const std::string& body, const std::stop_token& stop);

 private:
  void* curl_;
  std::string url_;
  Headers headers_;
};

}  // namespace relucent::index_tools
