#include "index_tools/hub/http_client.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

#include "base/ascii.h"
#include "index_tools/hub/libcurl.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const noexcept { libcurl().url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

/// Null if it is not a URL.
Url parse(const std::string& text) {
  Url url(libcurl().url());
  if (!url) throw std::bad_alloc();
  if (libcurl().url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
  return url;
}

std::string part_of(const Url& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (libcurl().url_get(url.get(), part, &text, flags) != CURLUE_OK) return {};
  std::string result = text;
  libcurl().free(text);
  return result;
}

std::string origin_of(const Url& url) {
  return fmt::format("{}://{}:{}", part_of(url, CURLUPART_SCHEME), part_of(url, CURLUPART_HOST),
                     part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

bool is_safe(const Url& url) {
  if (!url || part_of(url, CURLUPART_HOST).empty()) return false;
  const std::string scheme = part_of(url, CURLUPART_SCHEME);
  return scheme == "https" || (scheme == "http" && is_this_machine(part_of(url, CURLUPART_HOST)));
}

std::size_t ignore(const char*, std::size_t size, std::size_t count, void*) { return size * count; }

int abort_if_stopped(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

}  // namespace

std::string HttpHead::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

void require_safe_url(const std::string& url, const std::string& place) {
  if (is_safe(parse(url))) return;
  throw Error(ErrorKind::usage, place, fmt::format("{} is not an https address", url),
              "give one, or an http address of this machine");
}

/// What libcurl's callbacks need. They are C functions, so an exception waits here until libcurl has returned.
struct HttpClient::Transfer {
  HttpHead head;
  const Take& take;
  const StopSignal& stop;
  CURL* curl;
  std::exception_ptr thrown;

  static std::size_t on_header(const char* bytes, std::size_t size, std::size_t count, void* transfer) {
    Transfer& self = *static_cast<Transfer*>(transfer);
    const std::string_view line(bytes, size * count);
    constexpr std::size_t kMostHeaders = 1000;
    if (line.starts_with("HTTP/")) self.head.headers.clear();
    const std::size_t colon = line.find(':');
    if (colon != line.npos && self.head.headers.size() < kMostHeaders) {
      self.head.headers[lower_ascii(line.substr(0, colon))] = trim(line.substr(colon + 1));
    }
    return line.size();
  }

  static std::size_t on_body(const char* bytes, std::size_t size, std::size_t count, void* transfer) {
    Transfer& self = *static_cast<Transfer*>(transfer);
    constexpr std::size_t kStops = 0;
    try {
      long status = 0;
      libcurl().easy_getinfo(self.curl, CURLINFO_RESPONSE_CODE, &status);
      self.head.status = static_cast<int>(status);
      if (status == 200 || status == 206) self.take(self.head, {bytes, size * count});
      return size * count;
    } catch (...) {
      self.thrown = std::current_exception();
      return kStops;
    }
  }

  static int on_progress(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(transfer)->stop.due() ? 1 : 0;
  }
};

HttpClient::HttpClient(const std::string& endpoint, std::string token)
    : curl_(nullptr), origin_(origin_of(parse(endpoint))), token_(std::move(token)) {
  curl_ = new_transfer();
}

HttpClient::~HttpClient() { libcurl().easy_cleanup(curl_); }

std::string HttpClient::quoted(const std::string& part) const {
  char* const text = libcurl().easy_escape(curl_, part.data(), static_cast<int>(part.size()));
  if (text == nullptr) throw std::bad_alloc();
  std::string result = text;
  libcurl().free(text);
  return result;
}

HttpHead HttpClient::get(const std::string& url, std::uint64_t offset, const Take& take, const StopSignal& stop) {
  constexpr int kMostRedirects = 10;
  std::string next = url;
  for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
    HttpHead head = get_once(next, offset, take, stop);
    constexpr int kRedirects[] = {301, 302, 303, 307, 308};
    if (std::ranges::find(kRedirects, head.status) == std::end(kRedirects)) return head;
    const Url target = parse(next);
    const std::string location = head.header("location");
    const bool resolved =
        target && libcurl().url_set(target.get(), CURLUPART_URL, location.c_str(), CURLU_URLENCODE) == CURLUE_OK;
    if (!resolved || !is_safe(target)) {
      throw Error(ErrorKind::io, next, fmt::format("redirects to {}, which is not an https address", location),
                  "check HF_ENDPOINT");
    }
    next = part_of(target, CURLUPART_URL);
  }
  throw Error(ErrorKind::io, url, "redirects without end", "check HF_ENDPOINT");
}

HttpHead HttpClient::get_once(const std::string& url, std::uint64_t offset, const Take& take, const StopSignal& stop) {
  constexpr const char* kFetching = "fetching from the hub";
  stop.throw_if_due(kFetching);
  Transfer transfer{{}, take, stop, curl_, nullptr};
  char problem[CURL_ERROR_SIZE] = {};
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(nullptr, libcurl().slist_free_all);
  const std::string authorization = "Authorization: Bearer " + token_;
  if (!token_.empty() && origin_of(parse(url)) == origin_) {
    headers.reset(libcurl().slist_append(nullptr, authorization.c_str()));
    if (!headers) throw std::bad_alloc();
  }
  constexpr long kConnectSeconds = 30, kSlowSeconds = 60;
  begin_transfer(curl_, url, headers.get(), Transfer::on_progress, &transfer, problem);
  libcurl().easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  libcurl().easy_setopt(curl_, CURLOPT_LOW_SPEED_LIMIT, 1L);
  libcurl().easy_setopt(curl_, CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
  const std::string range = fmt::format("{}-", offset);
  if (offset > 0) libcurl().easy_setopt(curl_, CURLOPT_RANGE, range.c_str());
  libcurl().easy_setopt(curl_, CURLOPT_HEADERFUNCTION, Transfer::on_header);
  libcurl().easy_setopt(curl_, CURLOPT_HEADERDATA, &transfer);
  libcurl().easy_setopt(curl_, CURLOPT_WRITEFUNCTION, Transfer::on_body);
  libcurl().easy_setopt(curl_, CURLOPT_WRITEDATA, &transfer);
  const CURLcode code = libcurl().easy_perform(curl_);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  if (code == CURLE_ABORTED_BY_CALLBACK) stop.throw_if_due(kFetching);
  long status = 0;
  libcurl().easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  transfer.head.status = static_cast<int>(status);
  if (code == CURLE_OK) return transfer.head;
  const std::string what = *problem != '\0' ? problem : libcurl().easy_strerror(code);
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      throw Error(ErrorKind::io, url, "its certificate is not accepted: " + what,
                  "name the file of the right authorities in SSL_CERT_FILE");
    case CURLE_OUT_OF_MEMORY: throw std::bad_alloc();
    default: throw CutConnection{what};
  }
}

HttpPost::HttpPost(std::string url, Headers headers)
    : curl_(new_transfer()), url_(std::move(url)), headers_(std::move(headers)) {}

HttpPost::~HttpPost() { libcurl().easy_cleanup(curl_); }

std::string HttpPost::send(const std::string& body, const std::stop_token& stop) {
  constexpr long kConnectMilliseconds = 3000, kMilliseconds = 10'000;
  const Curl& curl = libcurl();
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> lines(nullptr, curl.slist_free_all);
  const auto add_line = [&](const std::string& line) {
    curl_slist* const longer = curl.slist_append(lines.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)lines.release();
    lines.reset(longer);
  };
  add_line("Content-Type: application/json");
  for (const auto& [name, value] : headers_) add_line(fmt::format("{}: {}", name, value));
  char problem[CURL_ERROR_SIZE] = {};
  begin_transfer(curl_, url_, lines.get(), abort_if_stopped, &stop, problem);
  curl.easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
  curl.easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl.easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS, kConnectMilliseconds);
  curl.easy_setopt(curl_, CURLOPT_TIMEOUT_MS, kMilliseconds);
  curl.easy_setopt(curl_, CURLOPT_WRITEFUNCTION, ignore);
  const CURLcode code = curl.easy_perform(curl_);
  if (code != CURLE_OK) {
    return fmt::format("{}: {}", url_, *problem != '\0' ? problem : curl.easy_strerror(code));
  }
  long status = 0;
  curl.easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 && status < 300 ? std::string() : fmt::format("{} answers with status {}", url_, status);
}

}  // namespace relucent::index_tools
