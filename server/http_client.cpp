// Like http_server.cpp apart from all else, because of what its headers cost.
#include "server/http_client.h"

#include <fmt/core.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "relucent/error.h"

namespace relucent::server {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Failure = boost::system::error_code;

// Beast keeps the head of a chunk, and trailers, here until they end; it does not limit them.
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

net::awaitable<void> ask_one(net::io_context& context, const Peer& peer, const PeerOrder& order, Reply& reply) {
  Failure failure;
  const auto failed = [&](const char* what) {
    if (failure) reply.problem = fmt::format("{}: {}", what, failure.message());
    return static_cast<bool>(failure);
  };
  beast::tcp_stream stream(context);
  stream.expires_at(order.deadline);
  net::ip::tcp::resolver resolver(context);
  const auto places =
      co_await resolver.async_resolve(peer.host, peer.port, net::redirect_error(net::use_awaitable, failure));
  if (failed("its name cannot be resolved")) co_return;
  co_await stream.async_connect(places, net::redirect_error(net::use_awaitable, failure));
  if (failed("cannot be reached")) co_return;
  const auto verb = order.method == PeerOrder::Method::post ? http::verb::post : http::verb::get;
  http::request<http::string_body> request{verb, beast::string_view(order.path.data(), order.path.size()), 11};
  request.set(http::field::host, peer.host + ":" + peer.port);
  request.set(http::field::content_type, "application/json");
  request.set(http::field::user_agent, "relucent");
  if (!order.token.empty()) request.set(http::field::authorization, "Bearer " + std::string(order.token));
  if (order.trace != nullptr) {
    request.set("traceparent", traceparent_of(*order.trace));
    if (!order.trace->state.empty()) request.set("tracestate", order.trace->state);
  }
  request.keep_alive(false);
  request.body() = std::string(order.body);
  request.prepare_payload();
  co_await http::async_write(stream, request, net::redirect_error(net::use_awaitable, failure));
  if (failed("did not take the request")) co_return;
  beast::flat_buffer buffer(kBufferBytes);
  http::response_parser<http::string_body> parser;
  parser.body_limit(order.max_bytes);
  co_await http::async_read_header(stream, buffer, parser, net::redirect_error(net::use_awaitable, failure));
  // Beast 1.74 sometimes reads the body after all if the head states a longer one.
  if (!failure && parser.content_length().value_or(0) > order.max_bytes) failure = http::error::body_limit;
  if (!failure) {
    co_await http::async_read(stream, buffer, parser, net::redirect_error(net::use_awaitable, failure));
  }
  reply.too_long = failure == http::error::body_limit;
  if (failed("did not answer")) co_return;
  reply.status = static_cast<int>(parser.get().result_int());
  reply.body = std::move(parser.get().body());
}

}  // namespace

Peer parse_peer(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  const auto refuse = [&] {
    throw Error(ErrorKind::usage, url, "is not the address of a server", "give http://HOST:PORT");
  };
  if (!url.starts_with(scheme)) refuse();
  std::string_view rest = url.substr(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.find_first_of("/?#@ ") != std::string_view::npos) refuse();
  const std::size_t colon = rest.rfind(':');
  const bool has_port = colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos;
  std::string_view host = has_port ? rest.substr(0, colon) : rest;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string_view port = has_port ? rest.substr(colon + 1) : "80";
  if (host.empty() || port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos) refuse();
  return {std::string(host), std::string(port)};
}

std::vector<Reply> ask_all(std::span<const Peer> peers, const PeerOrder& order) {
  net::io_context context(1);
  std::vector<Reply> replies(peers.size());
  for (std::size_t i = 0; i < peers.size(); ++i) {
    net::co_spawn(context, ask_one(context, peers[i], order, replies[i]), net::detached);
  }
  const std::stop_callback when_asked(order.stop, [&] { context.stop(); });
  // A name that resolves slowly is not in the stream's time limit.
  context.run_until(order.deadline + std::chrono::milliseconds(10));
  for (Reply& reply : replies) {
    if (reply.status == 0 && reply.problem.empty()) reply.problem = "did not answer in time";
  }
  return replies;
}

}  // namespace relucent::server
