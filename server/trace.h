#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relucent::server {

/// The place of a request in a trace (W3C Trace Context). Identifiers are lower-case hexadecimal digits.
struct TraceContext {
  std::string trace_id;   ///< 32 digits
  std::string parent_id;  ///< 16 digits: the caller's span; empty: the trace begins here
  std::string span_id;    ///< 16 digits, random: this request
  std::string flags;      ///< 2 digits: those that the standard defines
  std::string state;      ///< the callers' `tracestate`; may be empty
};

/// From the headers `traceparent` and `tracestate`. Null if the first one is not valid: the standard has it ignored.
std::optional<TraceContext> parse_trace(std::string_view traceparent, std::string_view tracestate);

/// A trace that begins with this request, to be recorded.
TraceContext new_trace();

/// Whether the caller records the trace, so that spans of it are worth exporting.
bool is_sampled(const TraceContext& trace);

/// 16 random digits.
std::string random_span_id();

/// The header `traceparent` of what this request asks of others.
std::string traceparent_of(const TraceContext& trace);

}  // namespace relucent::server
