#pragma once

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace relucent::index_tools {

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
