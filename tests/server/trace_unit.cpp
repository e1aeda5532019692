// Trace contexts as W3C's recommendation has them: https://www.w3.org/TR/trace-context/.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "relucent/config.h"
#include "server/request_parser.h"
#include "server/trace.h"

namespace relucent::server {
namespace {

constexpr std::string_view kExample = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContexts, KeepTheTraceAndHaveASpanOfTheirOwn) {
  const auto trace = parse_trace(kExample, "rojo=00f067aa0ba902b7");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(trace->parent_id, "00f067aa0ba902b7");
  EXPECT_EQ(trace->state, "rojo=00f067aa0ba902b7");
  EXPECT_EQ(trace->span_id.size(), 16U);
  EXPECT_NE(trace->span_id, trace->parent_id);
  EXPECT_NE(trace->span_id, parse_trace(kExample, "")->span_id);
  EXPECT_EQ(traceparent_of(*trace), "00-4bf92f3577b34da6a3ce929d0e0e4736-" + trace->span_id + "-01");
  EXPECT_EQ(parse_trace(traceparent_of(*trace), "")->parent_id, trace->span_id);
}

TEST(TraceContexts, OfLaterVersionsAreReadAsThisOne) {
  const std::string rest(kExample.substr(2));
  EXPECT_TRUE(parse_trace("cc" + rest, ""));
  EXPECT_TRUE(parse_trace("cc" + rest + "-what-is-new", ""));
  EXPECT_FALSE(parse_trace("cc" + rest + ".what-is-new", ""));
  EXPECT_FALSE(parse_trace("00" + rest + "-what-is-new", ""));
  EXPECT_FALSE(parse_trace("ff" + rest, ""));
}

TEST(TraceContexts, PassOnTheFlagsThatAreDefined) {
  const std::string start(kExample.substr(0, 53));
  EXPECT_EQ(parse_trace(start + "00", "")->flags, "00");
  EXPECT_EQ(parse_trace(start + "03", "")->flags, "03");
  EXPECT_EQ(parse_trace(start + "ff", "")->flags, "03");
  EXPECT_EQ(parse_trace(start + "a8", "")->flags, "00");
}

TEST(TraceContexts, AreIgnoredIfTheyAreNotValid) {
  for (const std::string_view wrong : {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                                       "zz-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                       "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                       "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                       "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
                                       "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                       "00-4bf92f3577b34da6a3ce929d0e0e473600f067aa0ba902b7--01"}) {
    EXPECT_FALSE(parse_trace(wrong, "")) << wrong;
  }
  EXPECT_EQ(parse_trace(kExample, std::string(513, 'x'))->state, "");
}

TEST(TraceContexts, OfARequestComeFromItsHeaders) {
  const auto read = [](const std::string& fields) {
    const ServerConfig limits;
    HttpRequest request;
    RequestParser parser(limits, request, [](std::size_t) { return true; });
    parser.take("GET / HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
    EXPECT_TRUE(parser.complete());
    return request.trace;
  };
  const std::string field = "Traceparent: " + std::string(kExample) + "\r\n";
  EXPECT_EQ(read(field + "tracestate: a=1\r\nTracestate: b=2\r\n")->state, "a=1,b=2");
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read(field + field)) << "two could be read differently by different programs";
}

}  // namespace
}  // namespace relucent::server
