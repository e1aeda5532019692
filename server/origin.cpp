#include "server/origin.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "server/refusal.h"

namespace relucent::server {
namespace {

bool equal_names(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<in_addr> v4_address(std::string_view text) {
  in_addr address{};
  if (::inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) return std::nullopt;
  return address;
}

std::optional<in6_addr> v6_address(std::string_view text) {
  in6_addr address{};
  if (::inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) return std::nullopt;
  return address;
}

/// The name in a header Host, without brackets and port; empty if it is not valid.
std::string_view host_name(std::string_view authority) {
  const bool bracketed = authority.starts_with('[');
  const std::size_t end = bracketed ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (end == std::string_view::npos) return {};
  std::string_view port = authority.substr(bracketed ? end + 1 : end);
  if (!port.empty() && port.front() != ':') return {};
  if (!port.empty()) port.remove_prefix(1);
  if (!std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; })) return {};
  const std::string_view name = bracketed ? authority.substr(1, end - 1) : authority.substr(0, end);
  return bracketed && !v6_address(name) ? std::string_view() : name;
}

bool is_this_machine(std::string_view name) {
  std::array<char, 256> own{};
  return ::gethostname(own.data(), own.size() - 1) == 0 && equal_names(name, own.data());
}

}  // namespace

bool is_loopback(std::string_view host) {
  if (equal_names(host, "localhost")) return true;
  if (const auto address = v4_address(host)) return (ntohl(address->s_addr) >> 24) == 127;
  const auto address = v6_address(host);
  return address && IN6_IS_ADDR_LOOPBACK(&*address);
}

void require_known_host(const HttpRequest& request, bool loopback_only) {
  if (!request.headers.contains("host")) return;  // HTTP/1.0: no browser sends it
  const std::string_view name = host_name(request.header("host"));
  if (is_loopback(name)) return;
  if (loopback_only) throw Refusal(403, "Validation", "without a token, the header Host must be a loopback address");
  if (v4_address(name) || v6_address(name) || is_this_machine(name)) return;
  throw Refusal(403, "Validation", "without a token, the header Host must be an IP address or this machine's name");
}

void require_own_page(const HttpRequest& request) {
  const std::string_view origin = request.header("origin");
  if (origin.empty()) return;
  const std::string_view host = request.header("host");
  const bool same = origin.ends_with(host) && origin.size() > host.size() + 3 &&
                    origin.substr(0, origin.size() - host.size()).ends_with("://");
  if (!same || host.empty()) throw Refusal(403, "Validation", "web pages of other sites may not use this server");
}

}  // namespace relucent::server
