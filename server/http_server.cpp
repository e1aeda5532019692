// All of Boost.Asio's server is in this file, because its headers take half a minute to compile.
#include "server/http_server.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/status.hpp>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "relucent/error.h"
#include "relucent/version.h"
#include "server/refusal.h"
#include "server/request_parser.h"

namespace relucent::server {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using tcp = net::ip::tcp;
using Failure = boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadAtOnce = 16 << 10;
// After an answer to a request that was not read to its end, so that the client sees the answer and not a reset.
constexpr std::chrono::seconds kLingerTime{2};
constexpr std::size_t kLingerBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxLingering = 256;
constexpr std::chrono::milliseconds kTick{20};
constexpr std::chrono::milliseconds kPause{100};     // after a failure that may pass: no descriptor left, no memory
constexpr std::chrono::milliseconds kPatience{500};  // with a client that may have left
constexpr std::string_view kVersion = "HTTP/1.1 ";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

auto into(Failure& failure) { return net::redirect_error(net::use_awaitable, failure); }

/// An exception that leaves std::call_once passes through libc, which loads its unwinder at the first one, and ends the
/// process if there is no memory for that. Loads it while there is some.
void load_unwinder() {
  std::once_flag flag;
  try {
    std::call_once(flag, [] { throw std::bad_alloc(); });
  } catch (const std::bad_alloc&) {
  }
}

/// How threads reach the server's one, as long as there is one.
struct Line {
  std::mutex mutex;
  net::io_context* context = nullptr;
};

}  // namespace

struct HttpServer::Implementation {
  class Connection;
  class Mailbox;
  class Exchange;

  ServerConfig settings;
  Callbacks callbacks;
  std::uint16_t port = 0;
  bool draining = false, accepting = false;
  std::size_t dropped = 0;
  std::size_t lingering = 0;  // of the connections
  std::size_t held = 0;       // bytes of bodies and answers
  std::set<Connection*> connections;
  std::vector<pollfd> polled;
  std::vector<Connection*> polled_connections;
  std::shared_ptr<Line> line = std::make_shared<Line>();
  // Owns the coroutines and through them the connections, so it ends before what they refer to.
  net::io_context context{1};
  tcp::acceptor acceptor{context};
  net::signal_set signals{context};
  net::steady_timer ticker{context}, drain_limit{context};

  net::awaitable<void> accept();
  void welcome(tcp::socket socket);
  bool make_room();
  void begin();
  void wait_for_signal();
  void tick();
  void look_after_connections();
  void look_for_clients_that_left();
  void end_if_drained();
  void abandon_all();
};

/// Where the answer of another thread arrives. The thread may keep it beyond the connection and the server.
class HttpServer::Implementation::Mailbox {
 public:
  Mailbox(std::shared_ptr<Line> line, Connection& connection) : line_(std::move(line)), connection_(&connection) {}

  /// Nothing: the request was lost. Any thread.
  static void put(const std::shared_ptr<Mailbox>& mailbox, std::optional<HttpResponse> answer) noexcept;
  // The rest is for the server's thread.
  bool filled() const noexcept { return filled_.load(std::memory_order_acquire); }
  HttpResponse take() { return answer_ ? std::move(*answer_) : answer_of({500, "Backend", "the request was lost"}); }
  void close() noexcept { connection_ = nullptr; }

 private:
  std::shared_ptr<Line> line_;
  Connection* connection_;
  std::optional<HttpResponse> answer_;  // written before filled_, read after it
  std::atomic<bool> filled_ = false;
};

class HttpServer::Implementation::Exchange final : public HttpExchange {
 public:
  Exchange(std::shared_ptr<Mailbox> mailbox, std::shared_ptr<const HttpRequest> request, std::stop_token gone)
      : mailbox_(std::move(mailbox)), request_(std::move(request)), gone_(std::move(gone)) {}
  ~Exchange() override {
    if (!done_.exchange(true)) Mailbox::put(mailbox_, std::nullopt);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const override { return *request_; }
  std::stop_token gone() const override { return gone_; }
  void answer(HttpResponse response) override {
    if (!done_.exchange(true)) Mailbox::put(mailbox_, std::move(response));
  }

 private:
  std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<const HttpRequest> request_;
  std::stop_token gone_;
  std::atomic<bool> done_ = false;
};

/// A connection and the exchange that is under way on it. Used in the server's thread alone.
class HttpServer::Implementation::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Implementation& server, tcp::socket socket)
      : server_(server), socket_(std::move(socket)), answered_(server.context) {
    Failure ignored;
    const auto end = socket_.remote_endpoint(ignored);
    if (!ignored) address_ = end.address().to_string();
    socket_.set_option(tcp::no_delay(true), ignored);
    server_.connections.insert(this);
    server_.callbacks.opened(server_.connections.size());
  }
  ~Connection() {
    if (client_gone_) client_gone_->request_stop();
    if (mailbox_) mailbox_->close();
    release();
    set_lingering(false);
    server_.connections.erase(this);
    server_.callbacks.opened(server_.connections.size());
    server_.end_if_drained();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  net::awaitable<void> serve();
  /// Tells a client that there are too many connections.
  net::awaitable<void> turn_away();
  /// Closes the connection if no request is under way.
  void close_if_idle() {
    if (idle_) close();
  }
  /// Since when it has waited for a request; nothing if it does not wait or bytes have arrived.
  std::optional<Clock::time_point> idle_since() const {
    Failure failure;
    if (!idle_ || lingers_ || !socket_.is_open() || socket_.available(failure) > 0 || failure) return std::nullopt;
    return idle_since_;
  }
  /// Closes the connection, which counts no more.
  void give_way() {
    set_lingering(true);
    close();
  }
  void close_if_overdue(Clock::time_point now) {
    if (now < deadline_ || !socket_.is_open()) return;
    overdue_ = true;
    close();
  }
  void abandon() {
    if (client_gone_) {
      client_gone_->request_stop();
      ++server_.dropped;
    }
    close();
  }
  /// Continues if the answer is there.
  void wake() {
    if (mailbox_ && mailbox_->filled()) answered_.cancel();
  }
  bool is_watched() const { return client_gone_ && mailbox_ && !client_gone_->stop_requested(); }
  int descriptor() { return socket_.native_handle(); }
  void client_ended(int events);
  void set_lingering(bool lingers) {
    server_.lingering += static_cast<std::size_t>(lingers) - static_cast<std::size_t>(lingers_);
    lingers_ = lingers;
  }

 private:
  net::awaitable<bool> serve_one(bool first);
  net::awaitable<bool> receive();
  net::awaitable<HttpResponse> handled(std::shared_ptr<HttpRequest> request);
  net::awaitable<bool> write(const HttpRequest& request, HttpResponse response, bool keep_alive);
  net::awaitable<void> linger();
  bool hold(std::size_t bytes);
  void release() { server_.held -= std::exchange(held_, 0); }
  void close() {
    Failure ignored;
    socket_.close(ignored);
  }
  void expires_after(std::chrono::milliseconds time) { deadline_ = Clock::now() + time; }

  Implementation& server_;
  tcp::socket socket_;
  std::string unread_;
  std::string address_;
  Clock::time_point deadline_ = Clock::time_point::max();  // then the connection is cut
  bool overdue_ = false;
  bool idle_ = true;  // no byte of a request has arrived
  Clock::time_point idle_since_ = Clock::now();
  bool all_read_ = false;  // of the request that is answered
  bool old_version_ = false;
  bool lingers_ = false;
  std::size_t held_ = 0;                        // of server_.held
  std::size_t begun_ = 0;                       // bytes of the answer that were sent before it was there
  std::optional<Clock::time_point> shut_down_;  // when the client's end was found shut down
  std::optional<std::stop_source> client_gone_;
  std::shared_ptr<Mailbox> mailbox_;
  net::steady_timer answered_;  // cancelled when the answer is there
};

void HttpServer::Implementation::Mailbox::put(const std::shared_ptr<Mailbox>& mailbox,
                                              std::optional<HttpResponse> answer) noexcept {
  mailbox->answer_ = std::move(answer);
  mailbox->filled_.store(true, std::memory_order_release);
  const std::lock_guard lock(mailbox->line_->mutex);
  if (mailbox->line_->context == nullptr) return;
  try {
    net::post(*mailbox->line_->context, [mailbox] {
      if (mailbox->connection_ != nullptr) mailbox->connection_->wake();
    });
  } catch (const std::exception&) {  // no memory; the next tick finds the answer
  }
}

net::awaitable<void> HttpServer::Implementation::Connection::serve() {
  const auto self = shared_from_this();
  try {
    for (bool first = true, open = true; open; first = false) open = co_await serve_one(first);
  } catch (const std::exception&) {  // no memory for this connection
  }
  close();
}

/// Reads and answers a request. False: the connection is to be closed.
net::awaitable<bool> HttpServer::Implementation::Connection::serve_one(bool first) {
  const ServerConfig& limits = server_.settings;
  idle_ = unread_.empty();
  if (idle_) {
    if (server_.draining) co_return false;
    idle_since_ = Clock::now();
    expires_after(first ? limits.read_timeout : limits.idle_timeout);
    const bool arrived = co_await receive();
    if (!arrived) co_return false;
    idle_ = false;
  }
  expires_after(limits.read_timeout);
  all_read_ = false;

  const auto request = std::make_shared<HttpRequest>();
  request->address = address_;
  request->arrived = Clock::now();
  RequestParser parser(limits, *request, [this](std::size_t bytes) { return hold(bytes); });
  std::optional<HttpResponse> answer;
  try {
    while (!parser.complete() && !answer) {
      if (unread_.empty()) {
        const bool arrived = co_await receive();
        if (!arrived) {
          if (overdue_) {
            server_.callbacks.finished(*request, answer_of({408, "Timeout", "the request did not arrive in time"}),
                                       true);
          }
          co_return false;
        }
      }
      const bool had_head = parser.has_head();
      unread_.erase(0, parser.take(unread_));
      if (had_head || !parser.has_head()) continue;
      old_version_ = parser.old_version();
      answer = server_.callbacks.judge(*request);
      if (answer || parser.complete()) continue;
      parser.expect_body();
      if (!parser.waits_to_continue() || !unread_.empty()) continue;
      Failure failure;
      co_await net::async_write(socket_, net::buffer(kContinue), into(failure));
      if (failure) co_return false;
    }
  } catch (const Refusal& refusal) {
    answer = answer_of(refusal);
  }
  all_read_ = parser.complete();
  if (!answer) {
    answer = co_await handled(request);
    request->body = {};
  }
  const bool keep_alive = all_read_ && parser.keep_alive() && !server_.draining;
  const bool stays_open = co_await write(*request, std::move(*answer), keep_alive);
  co_return stays_open;
}

/// Waits for bytes. False: there will be none.
net::awaitable<bool> HttpServer::Implementation::Connection::receive() {
  for (;;) {
    Failure failure;
    co_await socket_.async_wait(tcp::socket::wait_read, into(failure));
    if (failure) co_return false;
    // A buffer for the moment, so that connections hold no more than has arrived.
    const auto read = [this] {
      std::array<char, kReadAtOnce> bytes;
      const ssize_t count = ::recv(descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count > 0) unread_.assign(bytes.data(), static_cast<std::size_t>(count));
      return count;
    };
    const ssize_t count = read();
    if (count > 0) co_return true;
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) co_return false;
  }
}

/// Waits for the answer of another thread.
net::awaitable<HttpResponse> HttpServer::Implementation::Connection::handled(std::shared_ptr<HttpRequest> request) {
  deadline_ = Clock::time_point::max();
  client_gone_.emplace();
  mailbox_ = std::make_shared<Mailbox>(server_.line, *this);
  answered_.expires_at(net::steady_timer::time_point::max());
  server_.callbacks.handle(std::make_shared<Exchange>(mailbox_, std::move(request), client_gone_->get_token()));
  while (!mailbox_->filled()) {
    Failure ignored;
    co_await answered_.async_wait(into(ignored));
  }
  HttpResponse response = mailbox_->take();
  mailbox_->close();
  mailbox_.reset();
  co_return response;
}

/// A client that has shut down its end may have left, or only finished sending. The answer's first bytes show it: the
/// system of a client that left replies with a reset. Most answers come before that.
void HttpServer::Implementation::Connection::client_ended(int events) {
  if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
    client_gone_->request_stop();
    return;
  }
  const auto now = Clock::now();
  if (!shut_down_) shut_down_ = now;
  if (begun_ > 0 || now - *shut_down_ < kPatience) return;
  const ssize_t sent = ::send(descriptor(), kVersion.data(), kVersion.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) begun_ = static_cast<std::size_t>(sent);
}

/// Whether the connection may hold so many bytes. They count until the answer is written.
bool HttpServer::Implementation::Connection::hold(std::size_t bytes) {
  const std::size_t others = server_.held - held_;
  if (others + bytes > kHeldBodies * static_cast<std::size_t>(server_.settings.body_bytes)) return false;
  server_.held = others + bytes;
  held_ = bytes;
  return true;
}

/// False: the connection is to be closed.
net::awaitable<bool> HttpServer::Implementation::Connection::write(const HttpRequest& request, HttpResponse response,
                                                                   bool keep_alive) {
  const auto status = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string head = fmt::format(
      "{}{} {}\r\nServer: relucent/{}\r\nContent-Type: {}\r\nX-Content-Type-Options: nosniff\r\nContent-Length: {}\r\n",
      kVersion, response.status, std::string_view(status.data(), status.size()), version(), response.type,
      response.body.size());
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
  }
  if (!keep_alive) head += "Connection: close\r\n";
  if (keep_alive && old_version_) head += "Connection: keep-alive\r\n";
  head += "\r\n";
  const std::string_view body = request.method == "HEAD" ? std::string_view() : response.body;
  const std::array<net::const_buffer, 2> parts = {net::buffer(head) + std::exchange(begun_, 0), net::buffer(body)};
  // A large answer counts as a body does, so that clients who take none cannot have any number computed.
  server_.held += response.body.size() - std::exchange(held_, response.body.size());
  expires_after(server_.settings.write_timeout);
  Failure failure;
  co_await net::async_write(socket_, parts, into(failure));
  release();
  client_gone_.reset();
  response.body = {};
  server_.callbacks.finished(request, response, static_cast<bool>(failure));
  if (failure) co_return false;
  if (!keep_alive) co_await linger();
  co_return keep_alive;
}

net::awaitable<void> HttpServer::Implementation::Connection::linger() {
  Failure failure;
  socket_.shutdown(tcp::socket::shutdown_send, failure);
  if (all_read_ || failure || server_.lingering >= kMaxLingering) co_return;
  set_lingering(true);
  idle_ = true;  // nobody waits for it
  expires_after(kLingerTime);
  for (std::size_t total = 0; total < kLingerBytes; total += unread_.size()) {
    unread_ = {};
    const bool arrived = co_await receive();
    if (!arrived) co_return;
  }
}

net::awaitable<void> HttpServer::Implementation::Connection::turn_away() {
  const auto self = shared_from_this();
  try {
    HttpRequest nothing;
    nothing.arrived = Clock::now();
    idle_ = false;
    co_await write(nothing, answer_of({503, "Overloaded", "too many connections"}), false);
  } catch (const std::exception&) {
  }
  close();
}

net::awaitable<void> HttpServer::Implementation::accept() {
  accepting = true;
  while (acceptor.is_open()) {
    bool pause = false;
    try {
      Failure failure;
      tcp::socket socket = co_await acceptor.async_accept(into(failure));
      if (failure == net::error::operation_aborted) break;
      if (!failure) {
        welcome(std::move(socket));
      } else if (failure != net::error::no_descriptors || !make_room()) {
        pause = true;
      }
    } catch (const std::exception&) {
      pause = true;
    }
    if (!pause) continue;
    try {
      Failure ignored;
      net::steady_timer until_later(context, kPause);
      co_await until_later.async_wait(into(ignored));
    } catch (const std::exception&) {  // not even for a timer
      std::this_thread::sleep_for(kTick);
    }
  }
  accepting = false;
}

void HttpServer::Implementation::welcome(tcp::socket socket) {
  const bool full = connections.size() - lingering >= static_cast<std::size_t>(settings.connections) && !make_room();
  if (full && lingering >= kMaxLingering) return;
  auto connection = std::make_shared<Connection>(*this, std::move(socket));
  connection->set_lingering(full);
  net::co_spawn(
      context, [connection, full] { return full ? connection->turn_away() : connection->serve(); }, net::detached);
}

/// Closes the connection that has waited longest for a request. False: none waits.
bool HttpServer::Implementation::make_room() {
  Connection* longest = nullptr;
  auto since = Clock::time_point::max();
  for (Connection* connection : connections) {
    const auto idle = connection->idle_since();
    if (!idle || *idle >= since) continue;
    longest = connection;
    since = *idle;
  }
  if (longest != nullptr) longest->give_way();
  return longest != nullptr;
}

/// Also after an exception, which may have ended any of these.
void HttpServer::Implementation::begin() {
  signals.cancel();
  wait_for_signal();
  tick();
  if (!accepting && !draining) net::co_spawn(context, accept(), net::detached);
}

void HttpServer::Implementation::wait_for_signal() {
  signals.async_wait([this](const Failure& failure, int signal) {
    if (failure) return;
    wait_for_signal();
    callbacks.signal(signal);
  });
}

void HttpServer::Implementation::tick() {
  ticker.expires_after(kTick);
  ticker.async_wait([this](const Failure& failure) {
    if (failure) return;
    tick();
    look_after_connections();
    callbacks.tick();
  });
}

void HttpServer::Implementation::look_after_connections() {
  const auto now = Clock::now();
  for (Connection* connection : connections) {
    connection->close_if_overdue(now);
    connection->wake();
  }
  look_for_clients_that_left();
}

void HttpServer::Implementation::look_for_clients_that_left() {
  polled.clear();
  polled_connections.clear();
  for (Connection* connection : connections) {
    if (!connection->is_watched()) continue;
    polled_connections.push_back(connection);
    polled.push_back({connection->descriptor(), POLLRDHUP, 0});
  }
  if (polled.empty() || ::poll(polled.data(), polled.size(), 0) <= 0) return;
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents != 0) polled_connections[i]->client_ended(polled[i].revents);
  }
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
  self.line->context = &self.context;
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

HttpServer::~HttpServer() {
  implementation_->draining = false;  // so that the last connection stops nothing
  const std::lock_guard lock(implementation_->line->mutex);
  implementation_->line->context = nullptr;
}

std::uint16_t HttpServer::port() const noexcept { return implementation_->port; }

void HttpServer::run() {
  auto& self = *implementation_;
  std::signal(SIGPIPE, SIG_IGN);
  load_unwinder();
  for (;;) {
    try {
      self.begin();
      self.context.run();
      return;
    } catch (...) {  // no memory
      std::this_thread::sleep_for(kTick);
    }
  }
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
