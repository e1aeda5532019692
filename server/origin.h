#pragma once

#include <string_view>

#include "server/http.h"

namespace relucent::server {

/// Whether `host` is "localhost" or an address of 127.0.0.0/8 or ::1, without brackets and port. "127.evil.example" is
/// a name, not an address.
bool is_loopback(std::string_view host);

/// A browser sends requests of any web page to this machine, and a page's name may be made to resolve to it. Throws
/// Refusal 403 if the header Host, where there is one, could be such a name: if it is neither a loopback address nor,
/// unless `loopback_only`, another IP address or this machine's name.
void require_known_host(const HttpRequest& request, bool loopback_only);

/// Throws Refusal 403 for the request of a web page of another site.
void require_own_page(const HttpRequest& request);

}  // namespace relucent::server
