#include "index_tools/hub/libcurl.h"

#include <fmt/core.h>

#include <cstdlib>

#include "relucent/error.h"
#include "relucent/version.h"

namespace relucent::index_tools {

const Curl& libcurl() {
  static const Curl loaded;
  return loaded;
}

CURL* new_transfer() {
  static const CURLcode started = libcurl().global_init(CURL_GLOBAL_DEFAULT);
  CURL* const transfer = started == CURLE_OK ? libcurl().easy_init() : nullptr;
  if (transfer == nullptr) throw Error(ErrorKind::internal, "libcurl", "does not start");
  return transfer;
}

void begin_transfer(CURL* transfer, const std::string& url, curl_slist* headers, curl_xferinfo_callback aborts,
                    const void* context, char* problem) {
  const Curl& curl = libcurl();
  const std::string agent = fmt::format("relucent/{}", version());  // libcurl copies strings
  curl.easy_reset(transfer);
  curl.easy_setopt(transfer, CURLOPT_URL, url.c_str());
  curl.easy_setopt(transfer, CURLOPT_PROTOCOLS_STR, "https,http");
  curl.easy_setopt(transfer, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(transfer, CURLOPT_USERAGENT, agent.c_str());
  curl.easy_setopt(transfer, CURLOPT_HTTPHEADER, headers);
  curl.easy_setopt(transfer, CURLOPT_ERRORBUFFER, problem);
  curl.easy_setopt(transfer, CURLOPT_NOPROGRESS, 0L);
  curl.easy_setopt(transfer, CURLOPT_XFERINFOFUNCTION, aborts);
  curl.easy_setopt(transfer, CURLOPT_XFERINFODATA, context);
  for (const char* variable : {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* const file = std::getenv(variable);
    if (file == nullptr || *file == '\0') continue;
    curl.easy_setopt(transfer, CURLOPT_CAINFO, file);
    break;
  }
}

}  // namespace relucent::index_tools
