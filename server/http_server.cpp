// All of Boost.Beast and Boost.Asio is in this file, because its headers take half a minute to compile.
#include "server/http_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <csignal>
#include <optional>
#include <set>
#include <string>

#include "relucent/error.h"
#include "relucent/version.h"

namespace relucent::server {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = net::ip::tcp;
using Failure = boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadAtOnce = 16 << 10;
// After an answer to a request that was not read to its end, so that the client sees the answer and not a reset.
constexpr std::chrono::seconds kLingerTime{2};
constexpr std::size_t kLingerBytes = std::size_t{64} << 20;
constexpr std::chrono::milliseconds kTick{20};
constexpr std::size_t kMaxRefusals = 64;  // connections above the limit that are being told so

std::string to_string(beast::string_view text) { return {text.data(), text.size()}; }

auto into(Failure& failure) { return net::redirect_error(net::use_awaitable, failure); }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

HttpResponse refusal(int status, std::string_view message, std::string_view type) {
  // The texts below have nothing that JSON must escape.
  HttpResponse response{status, fmt::format(R"({{"error":"{}","error_type":"{}"}})", message, type)};
  response.note = message;
  return response;
}

/// The answer to what the parser refused; none if there is nobody to answer.
std::optional<HttpResponse> answer_to(const Failure& failure, const ServerConfig& settings) {
  if (failure == http::error::body_limit) {
    return refusal(413, fmt::format("the body is longer than {} bytes ([server] body_bytes)", settings.body_bytes),
                   "Validation");
  }
  if (failure == http::error::header_limit || failure == http::error::buffer_overflow) {
    return refusal(431,
                   fmt::format("the headers are longer than {} bytes ([server] header_bytes)", settings.header_bytes),
                   "Validation");
  }
  if (failure == http::error::end_of_stream || failure == http::error::partial_message) return std::nullopt;
  if (failure.category() == http::make_error_code(http::error::bad_version).category()) {
    return refusal(400, "this is not a valid HTTP/1.1 request", "Validation");
  }
  return std::nullopt;
}

}  // namespace

struct HttpServer::Implementation {
  class Connection;

  ServerConfig settings;
  Callbacks callbacks;
  std::uint16_t port = 0;
  bool draining = false;
  std::size_t refusals = 0, dropped = 0;
  std::set<Connection*> connections;
  // Owns the coroutines and through them the connections, so it ends before what they refer to.
  net::io_context context{1};
  tcp::acceptor acceptor{context};
  net::signal_set signals{context};
  net::steady_timer ticker{context}, drain_limit{context};

  net::awaitable<void> accept();
  net::awaitable<void> refuse(tcp::socket socket);
  void wait_for_signal();
  void tick();
  void end_if_drained();
  void abandon_all();
};

/// A connection and the exchange that is under way on it. Used in the server's thread alone, but for answer(), gone()
/// and what they touch.
class HttpServer::Implementation::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Implementation& server, tcp::socket socket)
      : server_(server), stream_(std::move(socket)), answered_(server.context) {
    Failure ignored;
    const auto end = stream_.socket().remote_endpoint(ignored);
    if (!ignored) address_ = end.address().to_string();
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    server_.connections.insert(this);
    server_.callbacks.opened(server_.connections.size());
  }
  ~Connection() {
    server_.connections.erase(this);
    server_.callbacks.opened(server_.connections.size());
    server_.end_if_drained();
  }

  net::awaitable<void> serve();
  /// Closes the connection if no request is under way.
  void close_if_idle() {
    if (idle_) stream_.close();
  }
  void abandon() {
    if (exchange_stop_) {
      exchange_stop_->request_stop();
      ++server_.dropped;
    }
    stream_.close();
  }

 private:
  class Exchange;

  net::awaitable<bool> read(std::optional<HttpRequest>& request, bool first);
  net::awaitable<bool> write(const HttpRequest& request, HttpResponse response, bool keep_alive);
  net::awaitable<HttpResponse> handled(HttpRequest request);
  net::awaitable<void> linger();
  void watch_client();

  Implementation& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::string address_;
  bool idle_ = true;       // no byte of a request has arrived
  bool all_read_ = false;  // of the request that is answered
  unsigned version_ = 11;
  bool keep_alive_ = true;
  std::optional<std::stop_source> exchange_stop_;
  net::steady_timer answered_;  // cancelled when the answer is there
  std::optional<HttpResponse> response_;
};

class HttpServer::Implementation::Connection::Exchange final : public HttpExchange {
 public:
  Exchange(std::shared_ptr<Connection> connection, HttpRequest request, std::stop_token gone)
      : connection_(std::move(connection)), request_(std::move(request)), gone_(std::move(gone)) {}
  ~Exchange() override {
    if (!done_) answer(refusal(500, "the request was lost", "Backend"));
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const override { return request_; }
  std::stop_token gone() const override { return gone_; }
  void answer(HttpResponse response) override {
    if (done_.exchange(true)) return;
    // The connection is given away with the answer: whoever answers may be the last owner, in another thread.
    net::io_context& context = connection_->server_.context;
    net::post(context, [connection = std::move(connection_), answer = std::move(response)]() mutable {
      connection->response_ = std::move(answer);
      connection->answered_.cancel();
    });
  }

 private:
  std::shared_ptr<Connection> connection_;
  HttpRequest request_;
  std::stop_token gone_;
  std::atomic<bool> done_ = false;
};

net::awaitable<void> HttpServer::Implementation::Connection::serve() {
  const auto self = shared_from_this();
  for (bool first = true;; first = false) {
    std::optional<HttpRequest> request;
    if (!co_await read(request, first)) break;
    const HttpRequest head{request->method, request->path, request->headers, {}, address_, request->arrived};
    HttpResponse response = co_await handled(std::move(*request));
    if (!co_await write(head, std::move(response), keep_alive_ && !server_.draining)) break;
    if (server_.draining) break;
  }
  stream_.close();
}

/// Reads one request. False: the connection is to be closed.
net::awaitable<bool> HttpServer::Implementation::Connection::read(std::optional<HttpRequest>& request, bool first) {
  const ServerConfig& settings = server_.settings;
  Failure failure;
  idle_ = buffer_.size() == 0;
  if (idle_) {
    if (server_.draining) co_return false;
    stream_.expires_after(first ? settings.read_timeout : settings.idle_timeout);
    const std::size_t count = co_await stream_.async_read_some(buffer_.prepare(kReadAtOnce), into(failure));
    if (failure) co_return false;
    buffer_.commit(count);
    idle_ = false;
  }
  const Clock::time_point arrived = Clock::now();
  stream_.expires_after(settings.read_timeout);
  all_read_ = false;

  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(settings.header_bytes));
  parser.body_limit(static_cast<std::uint64_t>(settings.body_bytes));
  co_await http::async_read_header(stream_, buffer_, parser, into(failure));
  const auto& message = parser.get();
  // Two lengths: another server on the way may have read the other one.
  if (!failure && message.count(http::field::transfer_encoding) > 0 && message.count(http::field::content_length) > 0) {
    failure = http::error::bad_transfer_encoding;
  }
  if (!failure && lower(to_string(message[http::field::expect])) == "100-continue") {
    http::response<http::empty_body> go_on{http::status::continue_, message.version()};
    co_await http::async_write(stream_, go_on, into(failure));
  }
  if (!failure) co_await http::async_read(stream_, buffer_, parser, into(failure));
  HttpRequest read;
  read.address = address_;
  read.arrived = arrived;
  if (failure) {
    keep_alive_ = false;
    if (failure == beast::error::timeout) {
      server_.callbacks.finished(read, refusal(408, "the request did not arrive in time", "Timeout"), true);
    }
    if (auto response = answer_to(failure, settings)) co_await write(read, std::move(*response), false);
    co_return false;
  }
  all_read_ = true;
  version_ = message.version();
  keep_alive_ = message.keep_alive();
  read.method = to_string(message.method_string());
  const std::string target = to_string(message.target());
  read.path = target.substr(0, target.find('?'));
  for (const auto& field : message) {
    read.headers.emplace(lower(to_string(field.name_string())), to_string(field.value()));
  }
  read.body = std::move(parser.get().body());
  request = std::move(read);
  co_return true;
}

/// Waits for the answer of another thread.
net::awaitable<HttpResponse> HttpServer::Implementation::Connection::handled(HttpRequest request) {
  exchange_stop_.emplace();
  response_.reset();
  stream_.expires_never();
  answered_.expires_at(net::steady_timer::time_point::max());
  server_.callbacks.handle(
      std::make_shared<Exchange>(shared_from_this(), std::move(request), exchange_stop_->get_token()));
  watch_client();
  while (!response_) {
    Failure ignored;
    co_await answered_.async_wait(into(ignored));
  }
  Failure ignored;
  stream_.socket().cancel(ignored);  // no longer watched
  HttpResponse response = std::move(*response_);
  response_.reset();
  co_return response;
}

/// Requests a stop of the exchange when the client closes its end.
void HttpServer::Implementation::Connection::watch_client() {
  if (buffer_.size() > 0) return;  // it has sent more
  stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](const Failure& failure) {
    if (failure) return;
    char byte = 0;
    const auto count = ::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count <= 0 && self->exchange_stop_) self->exchange_stop_->request_stop();
  });
}

/// False: the connection is to be closed.
net::awaitable<bool> HttpServer::Implementation::Connection::write(const HttpRequest& request, HttpResponse response,
                                                                   bool keep_alive) {
  http::response<http::string_body> message{static_cast<http::status>(response.status), version_};
  message.set(http::field::server, fmt::format("relucent/{}", version()));
  message.set(http::field::content_type, response.type);
  message.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(keep_alive);
  message.body() = std::move(response.body);
  message.prepare_payload();
  if (request.method == "HEAD") message.body().clear();  // Content-Length stays
  stream_.expires_after(server_.settings.write_timeout);
  Failure failure;
  if (request.method == "HEAD") {
    http::response_serializer<http::string_body> serializer(message);
    co_await http::async_write_header(stream_, serializer, into(failure));
  } else {
    co_await http::async_write(stream_, message, into(failure));
  }
  exchange_stop_.reset();
  server_.callbacks.finished(request, response, static_cast<bool>(failure));
  if (failure) co_return false;
  if (!keep_alive) co_await linger();
  co_return keep_alive;
}

net::awaitable<void> HttpServer::Implementation::Connection::linger() {
  Failure failure;
  stream_.socket().shutdown(tcp::socket::shutdown_send, failure);
  if (all_read_ || failure) co_return;
  stream_.expires_after(kLingerTime);
  for (std::size_t total = 0; !failure && total < kLingerBytes;) {
    buffer_.consume(buffer_.size());
    total += co_await stream_.async_read_some(buffer_.prepare(kReadAtOnce), into(failure));
  }
}

net::awaitable<void> HttpServer::Implementation::accept() {
  while (acceptor.is_open()) {
    Failure failure;
    tcp::socket socket = co_await acceptor.async_accept(into(failure));
    if (failure == net::error::operation_aborted) co_return;
    if (failure) {  // for example no file descriptor left
      net::steady_timer until_later(context, std::chrono::milliseconds(100));
      co_await until_later.async_wait(into(failure));
      continue;
    }
    if (connections.size() < static_cast<std::size_t>(settings.connections)) {
      auto connection = std::make_shared<Connection>(*this, std::move(socket));
      net::co_spawn(
          context, [connection] { return connection->serve(); }, net::detached);
    } else if (refusals < kMaxRefusals) {
      net::co_spawn(context, refuse(std::move(socket)), net::detached);
    }
  }
}

/// Tells a client that there are too many connections.
net::awaitable<void> HttpServer::Implementation::refuse(tcp::socket socket) {
  ++refusals;
  beast::tcp_stream stream(std::move(socket));
  stream.expires_after(std::chrono::seconds(1));
  http::response<http::string_body> message{http::status::service_unavailable, 11};
  message.set(http::field::content_type, "application/json");
  message.set(http::field::retry_after, "1");
  message.keep_alive(false);
  HttpResponse response = refusal(503, "too many connections", "Overloaded");
  message.body() = response.body;
  message.prepare_payload();
  Failure failure;
  co_await http::async_write(stream, message, into(failure));
  stream.socket().shutdown(tcp::socket::shutdown_send, failure);
  char rest[1024];
  for (int reads = 0; !failure && reads < 16; ++reads) {
    co_await stream.async_read_some(net::buffer(rest), into(failure));
  }
  --refusals;
  HttpRequest nothing;
  nothing.arrived = Clock::now();
  callbacks.finished(nothing, response, false);
}

void HttpServer::Implementation::wait_for_signal() {
  signals.async_wait([this](const Failure& failure, int signal) {
    if (failure) return;
    callbacks.signal(signal);
    wait_for_signal();
  });
}

void HttpServer::Implementation::tick() {
  ticker.expires_after(kTick);
  ticker.async_wait([this](const Failure& failure) {
    if (failure) return;
    callbacks.tick();
    tick();
  });
}

void HttpServer::Implementation::end_if_drained() {
  if (draining && connections.empty()) context.stop();
}

void HttpServer::Implementation::abandon_all() {
  for (Connection* connection : connections) connection->abandon();
  context.stop();
}

HttpServer::HttpServer(const ServerConfig& settings, Callbacks callbacks)
    : implementation_(std::make_unique<Implementation>()) {
  auto& self = *implementation_;
  self.settings = settings;
  self.callbacks = std::move(callbacks);
  Failure failure;
  const auto address = net::ip::make_address(settings.host == "localhost" ? "127.0.0.1" : settings.host, failure);
  if (failure) {
    throw Error(ErrorKind::usage, "host " + settings.host, "is not an IP address",
                "use 127.0.0.1, ::1, or an address of this machine; 0.0.0.0 and :: are all of them");
  }
  const tcp::endpoint place(address, static_cast<std::uint16_t>(settings.port));
  const auto require = [&](const char* what) {
    if (!failure) return;
    throw Error(ErrorKind::io, fmt::format("{} port {}", settings.host, settings.port),
                fmt::format("{}: {}", what, failure.message()), "choose another --host or --port");
  };
  self.acceptor.open(place.protocol(), failure);
  require("cannot open a socket");
  self.acceptor.set_option(tcp::acceptor::reuse_address(true), failure);
  require("cannot set an option");
  self.acceptor.bind(place, failure);
  require("cannot be used");
  self.acceptor.listen(net::socket_base::max_listen_connections, failure);
  require("cannot listen");
  self.port = self.acceptor.local_endpoint().port();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) self.signals.add(signal);
}

HttpServer::~HttpServer() { implementation_->draining = false; }

std::uint16_t HttpServer::port() const noexcept { return implementation_->port; }

void HttpServer::run() {
  auto& self = *implementation_;
  std::signal(SIGPIPE, SIG_IGN);
  self.wait_for_signal();
  self.tick();
  net::co_spawn(self.context, self.accept(), net::detached);
  self.context.run();
}

void HttpServer::drain() {
  auto& self = *implementation_;
  if (self.draining) return;
  self.draining = true;
  Failure ignored;
  self.acceptor.close(ignored);
  for (Implementation::Connection* connection : self.connections) connection->close_if_idle();
  self.drain_limit.expires_after(self.settings.drain_timeout);
  self.drain_limit.async_wait([&self](const Failure& failure) {
    if (!failure) self.abandon_all();
  });
  self.end_if_drained();
}

void HttpServer::stop() { implementation_->abandon_all(); }

std::size_t HttpServer::dropped() const noexcept { return implementation_->dropped; }

}  // namespace relucent::server
