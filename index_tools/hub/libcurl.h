#pragma once

#include <curl/curl.h>

namespace relucent::index_tools {

/// libcurl's functions. The library is loaded at their first use (LateLibrary).
struct Curl {
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_escape) easy_escape;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_free) free;
  decltype(&curl_global_init) global_init;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_url) url;
  decltype(&curl_url_cleanup) url_cleanup;
  decltype(&curl_url_get) url_get;
  decltype(&curl_url_set) url_set;

  Curl();
};

/// Throws Error `unsupported` if libcurl is not installed.
const Curl& libcurl();

/// For one transfer after the other. Throws Error.
CURL* new_transfer();

/// Sets the file of authorities that Hugging Face's programs and curl accept, if the environment names one.
void set_authorities(CURL* transfer);

}  // namespace relucent::index_tools
