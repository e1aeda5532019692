#include "index_tools/hub/libcurl.h"

#include <cstdlib>

#include "index_tools/hub/late_library.h"
#include "relucent/error.h"

namespace relucent::index_tools {

Curl::Curl() {
  const LateLibrary library("libcurl.so.4", "libcurl4");
  library.find("curl_easy_cleanup", easy_cleanup);
  library.find("curl_easy_escape", easy_escape);
  library.find("curl_easy_getinfo", easy_getinfo);
  library.find("curl_easy_init", easy_init);
  library.find("curl_easy_perform", easy_perform);
  library.find("curl_easy_reset", easy_reset);
  library.find("curl_easy_setopt", easy_setopt);
  library.find("curl_easy_strerror", easy_strerror);
  library.find("curl_free", free);
  library.find("curl_global_init", global_init);
  library.find("curl_slist_append", slist_append);
  library.find("curl_slist_free_all", slist_free_all);
  library.find("curl_url", url);
  library.find("curl_url_cleanup", url_cleanup);
  library.find("curl_url_get", url_get);
  library.find("curl_url_set", url_set);
}

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

void set_authorities(CURL* transfer) {
  for (const char* variable : {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* const file = std::getenv(variable);
    if (file == nullptr || *file == '\0') continue;
    libcurl().easy_setopt(transfer, CURLOPT_CAINFO, file);
    break;
  }
}

}  // namespace relucent::index_tools
