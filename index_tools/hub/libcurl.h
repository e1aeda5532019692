#pragma once

#include <curl/curl.h>

#include <string>

#include "index_tools/hub/late_library.h"

namespace relucent::index_tools {

/// libcurl's functions. The library is loaded at their first use (LateLibrary).
struct Curl {
  LateLibrary library{"libcurl.so.4", "libcurl4"};
  decltype(&curl_easy_cleanup) easy_cleanup = library.find("curl_easy_cleanup");
  decltype(&curl_easy_escape) easy_escape = library.find("curl_easy_escape");
  decltype(&curl_easy_getinfo) easy_getinfo = library.find("curl_easy_getinfo");
  decltype(&curl_easy_init) easy_init = library.find("curl_easy_init");
  decltype(&curl_easy_perform) easy_perform = library.find("curl_easy_perform");
  decltype(&curl_easy_reset) easy_reset = library.find("curl_easy_reset");
  decltype(&curl_easy_setopt) easy_setopt = library.find("curl_easy_setopt");
  decltype(&curl_easy_strerror) easy_strerror = library.find("curl_easy_strerror");
  decltype(&curl_free) free = library.find("curl_free");
  decltype(&curl_global_init) global_init = library.find("curl_global_init");
  decltype(&curl_slist_append) slist_append = library.find("curl_slist_append");
  decltype(&curl_slist_free_all) slist_free_all = library.find("curl_slist_free_all");
  decltype(&curl_url) url = library.find("curl_url");
  decltype(&curl_url_cleanup) url_cleanup = library.find("curl_url_cleanup");
  decltype(&curl_url_get) url_get = library.find("curl_url_get");
  decltype(&curl_url_set) url_set = library.find("curl_url_set");
};

/// Throws Error `unsupported` if libcurl is not installed.
const Curl& libcurl();

/// For one transfer after the other. Throws Error.
CURL* new_transfer();

/// Sets what every transfer needs, in place of the last one's settings; the authorities are those that Hugging Face's
/// programs and curl accept, if the environment names their file.
/// @param aborts   is called now and then with `context`; a result other than 0 ends the transfer
/// @param problem  [CURL_ERROR_SIZE], which gets the reason for a failure
/// All pointers must stay valid during the transfer.
void begin_transfer(CURL* transfer, const std::string& url, curl_slist* headers, curl_xferinfo_callback aborts,
                    const void* context, char* problem);

}  // namespace relucent::index_tools
