// A client of a server in the same process, with sockets alone.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file/unique_fd.h"

namespace relucent::testing {

/// A connection to a server on this machine.
inline UniqueFd connect_to(std::uint16_t port) {
  UniqueFd connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{60, 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return {};
  return connection;
}

inline bool send_all(const UniqueFd& connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// An answer; empty if the server has closed the connection before its first byte. Fails if it is cut off.
inline std::string receive(const UniqueFd& connection) {
  constexpr std::string_view kLength = "Content-Length: ";
  std::string data;
  for (;;) {
    const auto end = data.find("\r\n\r\n");
    if (end != std::string::npos) {
      const auto length = data.find(kLength);
      if (data.size() == end + 4 + std::stoul(data.substr(length + kLength.size()))) return data;
    }
    char part[4096];
    const ssize_t count = ::recv(connection.get(), part, sizeof(part), 0);
    if (count <= 0) {
      EXPECT_TRUE(data.empty()) << "cut off: " << data.substr(0, 300);
      return {};
    }
    data.append(part, static_cast<std::size_t>(count));
  }
}

/// A request with a body in JSON.
inline std::string request(std::string_view path, const std::string& body) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace relucent::testing
