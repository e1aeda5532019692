#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>  // Boost.Asio 1.18 also needs it
#include <vector>

#include "server/trace.h"

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
  bool too_long = false;  ///< it has more than `max_bytes`
};

struct PeerOrder {
  std::string_view path, body;  ///< JSON, or empty
  std::string_view token;       ///< bearer; empty: none
  std::chrono::steady_clock::time_point deadline;
  std::stop_token stop;
  std::size_t max_bytes = 0;            ///< of an answer's body
  const TraceContext* trace = nullptr;  ///< null: none
  enum class Method { post, get } method = Method::post;
};

/// Sends the same request to all peers concurrently; one reply each, in their order. Ends at the deadline, or when
/// asked to stop, and then closes the connections. Keeps at most `max_bytes` and a little more of each answer.
std::vector<Reply> ask_all(std::span<const Peer> peers, const PeerOrder& order);

}  // namespace relucent::server
