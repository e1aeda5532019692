#include "server/trace.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/keyed_hash.h"

namespace relucent::server {
namespace {

constexpr std::size_t kTraceparentBytes = 55;  // of version 00; later versions may append to it
constexpr std::size_t kMaxStateBytes = 512;

bool is_hexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_identifier(std::string_view text) {
  return is_hexadecimal(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceContext> parse_trace(std::string_view traceparent, std::string_view tracestate) {
  if (traceparent.size() < kTraceparentBytes) return std::nullopt;
  const std::string_view version = traceparent.substr(0, 2);
  if (!is_hexadecimal(version) || version == "ff") return std::nullopt;
  if (traceparent.size() > kTraceparentBytes && (version == "00" || traceparent[kTraceparentBytes] != '-')) {
    return std::nullopt;
  }
  if (traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-') return std::nullopt;
  const std::string_view trace_id = traceparent.substr(3, 32), parent_id = traceparent.substr(36, 16);
  const std::string_view flags = traceparent.substr(53, 2);
  if (!is_identifier(trace_id) || !is_identifier(parent_id) || !is_hexadecimal(flags)) return std::nullopt;
  TraceContext trace{std::string(trace_id), std::string(parent_id), random_span_id(), "", ""};
  // The lowest two bits: sampled, and that the trace's identifier is random.
  const char last = flags[1];
  const int bits = (last <= '9' ? last - '0' : last - 'a' + 10) & 3;
  trace.flags = fmt::format("0{}", bits);
  if (tracestate.size() <= kMaxStateBytes) trace.state = tracestate;
  return trace;
}

std::string random_span_id() {
  std::uint64_t number = 0;
  while (number == 0) number = KeyedHash::random_key()[0];
  return fmt::format("{:016x}", number);
}

TraceContext new_trace() {
  // Sampled, with a random identifier.
  return {random_span_id() + random_span_id(), "", random_span_id(), "03", ""};
}

bool is_sampled(const TraceContext& trace) { return trace.flags == "01" || trace.flags == "03"; }

std::string traceparent_of(const TraceContext& trace) {
  return fmt::format("00-{}-{}-{}", trace.trace_id, trace.span_id, trace.flags);
}

}  // namespace relucent::server
