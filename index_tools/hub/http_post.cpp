#include "index_tools/hub/http_post.h"

#include <fmt/core.h>

#include <memory>
#include <new>

#include "index_tools/hub/libcurl.h"
#include "relucent/version.h"

namespace relucent::index_tools {
namespace {

std::size_t ignore(const char*, std::size_t size, std::size_t count, void*) { return size * count; }

int abort_if_stopped(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

}  // namespace

HttpPost::HttpPost(std::string url, Headers headers)
    : curl_(new_transfer()), url_(std::move(url)), headers_(std::move(headers)) {}

HttpPost::~HttpPost() { libcurl().easy_cleanup(curl_); }

std::string HttpPost::send(const std::string& body, const std::stop_token& stop) {
  constexpr long kConnectMilliseconds = 3000, kMilliseconds = 10'000;
  const Curl& curl = libcurl();
  curl.easy_reset(curl_);
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> lines(nullptr, curl.slist_free_all);
  const auto add_line = [&](const std::string& line) {
    curl_slist* const longer = curl.slist_append(lines.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)lines.release();
    lines.reset(longer);
  };
  add_line("Content-Type: application/json");
  for (const auto& [name, value] : headers_) add_line(fmt::format("{}: {}", name, value));
  const std::string agent = fmt::format("relucent/{}", version());
  char problem[CURL_ERROR_SIZE] = {};
  curl.easy_setopt(curl_, CURLOPT_URL, url_.c_str());
  curl.easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "https,http");
  curl.easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(curl_, CURLOPT_USERAGENT, agent.c_str());
  curl.easy_setopt(curl_, CURLOPT_HTTPHEADER, lines.get());
  curl.easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
  curl.easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl.easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS, kConnectMilliseconds);
  curl.easy_setopt(curl_, CURLOPT_TIMEOUT_MS, kMilliseconds);
  curl.easy_setopt(curl_, CURLOPT_ERRORBUFFER, problem);
  curl.easy_setopt(curl_, CURLOPT_WRITEFUNCTION, ignore);
  curl.easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
  curl.easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, abort_if_stopped);
  curl.easy_setopt(curl_, CURLOPT_XFERINFODATA, &stop);
  set_authorities(curl_);
  const CURLcode code = curl.easy_perform(curl_);
  if (code != CURLE_OK) {
    return fmt::format("{}: {}", url_, *problem != '\0' ? problem : curl.easy_strerror(code));
  }
  long status = 0;
  curl.easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 && status < 300 ? std::string() : fmt::format("{} answers with status {}", url_, status);
}

}  // namespace relucent::index_tools
