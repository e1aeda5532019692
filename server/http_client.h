#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>  // Boost.Asio 1.18 needs it, too
#include <vector>

namespace relucent::server {

/// http://HOST:PORT of another server.
struct Peer {
  std::string host, port;
};
/// Throws Error `usage`. Without a port, 80; a path is refused.
Peer parse_peer(std::string_view url);

struct Reply {
  int status = 0;  ///< 0: there is none, see `problem`
  std::string body;
  std::string problem;
};

struct PostOrder {
  std::string_view path, body;
  std::string_view token;  ///< bearer; empty: none
  std::chrono::steady_clock::time_point deadline;
  std::size_t max_bytes = std::size_t{1} << 30;  ///< of an answer
};

/// Sends the same JSON to all peers at once; one reply each, in their order. Ends at the deadline.
std::vector<Reply> post_to_all(std::span<const Peer> peers, const PostOrder& order);

}  // namespace relucent::server
