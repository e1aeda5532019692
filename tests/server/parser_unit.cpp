#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "server/answer.h"
#include "server/origin.h"
#include "server/request_parser.h"

namespace relucent::server {
namespace {

constexpr std::string_view kHead = "POST /rerank?x=1 HTTP/1.1\r\nHost: localhost\r\n";

ServerConfig small_requests() {
  ServerConfig limits;
  limits.header_bytes = 400;
  limits.body_bytes = 1000;
  return limits;
}

/// What comes of the requests in `bytes`, given to the parser in pieces of the sizes that `next_size` returns.
std::string read(std::string_view bytes, const std::function<std::size_t()>& next_size,
                 std::size_t may_hold = 1 << 20) {
  const ServerConfig limits = small_requests();
  std::string result;
  while (!bytes.empty()) {
    HttpRequest request;
    RequestParser parser(limits, request, [&](std::size_t size) { return size <= may_hold; });
    try {
      while (!parser.complete() && !bytes.empty()) {
        const bool had_head = parser.has_head();
        bytes.remove_prefix(parser.take(bytes.substr(0, next_size())));
        if (!had_head && parser.has_head()) parser.expect_body();
      }
      if (!parser.complete()) return result + "...";
    } catch (const Refusal& refusal) {
      return result + std::to_string(refusal.status());
    }
    result += request.method + " " + request.path + " <" + request.body + "> ";
  }
  return result;
}

std::string read(std::string_view bytes) {
  return read(bytes, [] { return std::string_view::npos; });
}

std::string post(std::string_view fields, std::string_view rest) {
  return std::string(kHead) + std::string(fields) + "\r\n" + std::string(rest);
}

const std::vector<std::string>& samples() {
  static const std::vector<std::string> all = {
      post("Content-Length: 5\r\n", "hello") + post("", "") + post("Content-Length: 0\r\n", ""),
      post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0006;a=\"b\"\r\n world\r\n0\r\nT: x\r\nU: y\r\n\r\n") +
          post("", ""),
      post("Transfer-Encoding: ChunKed\r\n", "0\r\n\r\n"),
      post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r0\r\n\r\n"),
      post("Transfer-Encoding: chunked\r\n", "g\r\n"),
      post("Transfer-Encoding: chunked\r\n", "3e9\r\n"),
      post("Transfer-Encoding: chunked\r\n", "1;" + std::string(3000, 'x')),
      post("Transfer-Encoding: chunked\r\n", "0\r\nX: " + std::string(3000, 'x')),
      post("Transfer-Encoding: gzip\r\n", "x"),
      post("Content-Length: 1001\r\n", "x"),
      post("X: " + std::string(400, 'x') + "\r\n", ""),
      post("X: a\r\n b\r\n", ""),
      "GET / HTTP/1.0\r\n\r\nGET /a HTTP/1.0\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
  };
  return all;
}

TEST(RequestParser, ReadsRequestsOneAfterTheOther) {
  EXPECT_EQ(read(samples()[0]), "POST /rerank <hello> POST /rerank <> POST /rerank <> ");
  EXPECT_EQ(read(samples()[1]), "POST /rerank <hello world> POST /rerank <> ");
  EXPECT_EQ(read(samples()[2]), "POST /rerank <> ");
  EXPECT_EQ(read(samples()[12]), "GET / <> GET /a <> ");
}

TEST(RequestParser, RefusesWhatIsMalformedOrTooLong) {
  const std::vector<std::string> expected = {"400", "400", "413", "413", "413", "400", "413", "431", "400"};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(read(samples()[i + 3]), expected[i]) << i;
  EXPECT_EQ(read(samples()[13]), "400");
  EXPECT_EQ(read(samples()[14]), "400");
}

TEST(RequestParser, ReadsTheSameInPiecesOfAnySize) {
  std::mt19937 random(1);
  for (const std::string& sample : samples()) {
    const std::string whole = read(sample);
    EXPECT_EQ(read(sample, [] { return 1; }), whole) << sample;
    for (int trial = 0; trial < 50; ++trial) EXPECT_EQ(read(sample, [&] { return 1 + random() % 40; }), whole);
  }
}

TEST(RequestParser, KeepsItsLimitsWhateverItGets) {
  std::mt19937 random(2);
  const ServerConfig limits = small_requests();
  constexpr std::string_view bytes = "\r\n\r\n:; 0159afHTP/.,\t\x01";
  for (int trial = 0; trial < 20000; ++trial) {
    std::string sample = samples()[random() % samples().size()];
    for (auto changes = random() % 6; changes > 0; --changes) {
      const std::size_t place = random() % sample.size();
      const char byte = bytes[random() % bytes.size()];
      random() % 2 ? sample.replace(place, 1, 1, byte) : sample.insert(place, 1 + random() % 3, byte);
    }
    std::size_t held = 0;
    HttpRequest request;
    RequestParser parser(limits, request, [&](std::size_t size) {
      held = size;
      return true;
    });
    try {
      const std::size_t used = parser.take(sample);
      ASSERT_LE(used, 400U);
      if (parser.has_head()) parser.expect_body();
      if (!parser.complete()) parser.take(std::string_view(sample).substr(used));
      ASSERT_LE(request.body.size(), std::max<std::size_t>(held, 15));
      ASSERT_LE(held, 1000U);
    } catch (const Refusal& refusal) {
      ASSERT_TRUE(refusal.status() == 400 || refusal.status() == 413 || refusal.status() == 431);
    }
  }
}

TEST(RequestParser, AsksBeforeABodyGrows) {
  const std::string body(900, 'x');
  const auto whole = [] { return std::string_view::npos; };
  for (const std::string& sample : {post("Content-Length: 900\r\n", body),
                                    post("Transfer-Encoding: chunked\r\n", "384\r\n" + body + "\r\n0\r\n\r\n")}) {
    EXPECT_EQ(read(sample, whole, 899), "429");
    EXPECT_EQ(read(sample, whole, 900), "POST /rerank <" + body + "> ");
  }
}

TEST(RequestParser, TrailersAreNoHeaders) {
  const ServerConfig limits = small_requests();
  HttpRequest request;
  RequestParser parser(limits, request, [](std::size_t) { return true; });
  std::string bytes = post("Transfer-Encoding: chunked\r\nX: 1\r\n", "0\r\nAuthorization: Bearer x\r\nX: 2\r\n\r\n");
  bytes.erase(0, parser.take(bytes));
  EXPECT_EQ(parser.take(bytes), bytes.size());
  EXPECT_TRUE(parser.complete());
  EXPECT_FALSE(request.headers.contains("authorization"));
  EXPECT_EQ(request.header("x"), "1");
}

TEST(RequestParser, KnowsWhetherTheConnectionStaysOpen) {
  const auto stays = [](std::string_view version, std::string_view fields) {
    const ServerConfig limits = small_requests();
    HttpRequest request;
    RequestParser parser(limits, request, [](std::size_t) { return true; });
    parser.take("GET / HTTP/" + std::string(version) + "\r\nHost: x\r\n" + std::string(fields) + "\r\n");
    return parser.keep_alive();
  };
  EXPECT_TRUE(stays("1.1", ""));
  EXPECT_FALSE(stays("1.1", "Connection: x , Close\r\n"));
  EXPECT_FALSE(stays("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_FALSE(stays("1.0", ""));
  EXPECT_TRUE(stays("1.0", "Connection: Keep-Alive\r\n"));
}

TEST(Hosts, AreLoopbackAddressesOrNames) {
  for (const char* own : {"localhost", "LocalHost", "127.0.0.1", "127.255.0.9", "::1"}) {
    EXPECT_TRUE(is_loopback(own)) << own;
  }
  for (const char* other : {"", "127.evil.com", "127.0.0.1.evil.com", "127.1", "127.0.0.1 ", "1127.0.0.1", "0.0.0.0",
                            "::2", "::", "localhost.evil.com", "[::1]"}) {
    EXPECT_FALSE(is_loopback(other)) << other;
  }
}

TEST(JsonObject, WritesWhatATreeWrites) {
  const std::string text = JsonObject().text("a", "b\"\n\xff").number("n", 12).number("x", 0.5).flag("f", true).str();
  EXPECT_EQ(text, "{\"a\":\"b\\\"\\n\xef\xbf\xbd\",\"n\":12,\"x\":0.5,\"f\":true}");
  EXPECT_EQ(to_text(Answer::parse(text)), text);
}

}  // namespace
}  // namespace relucent::server
