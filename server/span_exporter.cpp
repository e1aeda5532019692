#include "server/span_exporter.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "relucent/version.h"
#include "server/answer.h"

namespace relucent::server {
namespace {

constexpr std::chrono::milliseconds kLastBatches{300};
constexpr std::chrono::milliseconds kAbort{2000};  // libcurl looks about once per second whether it shall end
constexpr int kServerSpan = 2, kInternalSpan = 1;  // OTLP's SpanKind
constexpr int kFailed = 2;                         // OTLP's StatusCode

// OTLP's JSON writes 64-bit numbers as strings.
std::string unix_nanoseconds(std::chrono::system_clock::time_point time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

Answer attribute(const std::string& name, const Span::Attribute::second_type& value) {
  Answer typed;
  if (const auto* text = std::get_if<Span::Text>(&value)) {
    typed = {{"stringValue", text->text}};
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    typed = {{"intValue", std::to_string(*whole)}};
  } else {
    typed = {{"doubleValue", std::get<double>(value)}};
  }
  return {{"key", name}, {"value", typed}};
}

Answer request_span(const Span& span) {
  Answer json{{"traceId", span.trace.trace_id}, {"spanId", span.trace.span_id}};
  if (!span.trace.state.empty()) json["traceState"] = span.trace.state;
  if (!span.trace.parent_id.empty()) json["parentSpanId"] = span.trace.parent_id;
  json["name"] = span.name;
  json["kind"] = kServerSpan;
  json["startTimeUnixNano"] = unix_nanoseconds(span.start);
  json["endTimeUnixNano"] = unix_nanoseconds(span.end);
  json["attributes"] = Answer::array();
  for (const auto& [name, value] : span.attributes) json["attributes"].push_back(attribute(name, value));
  if (span.failed) json["status"] = {{"code", kFailed}};
  return json;
}

void add_spans(const Span& span, Answer& spans) {
  spans.push_back(request_span(span));
  auto start = span.start;
  for (const Span::Step& step : span.steps) {
    const auto duration = std::chrono::duration_cast<std::chrono::system_clock::duration>(step.duration);
    const auto end = std::min(start + duration, span.end);
    spans.push_back({{"traceId", span.trace.trace_id},
                     {"spanId", random_span_id()},
                     {"parentSpanId", span.trace.span_id},
                     {"name", step.name},
                     {"kind", kInternalSpan},
                     {"startTimeUnixNano", unix_nanoseconds(start)},
                     {"endTimeUnixNano", unix_nanoseconds(end)}});
    start = end;
  }
}

}  // namespace

std::string otlp_json(const std::vector<Span>& spans, const std::string& service) {
  Answer all = Answer::array();
  for (const Span& span : spans) add_spans(span, all);
  const Answer resource{
      {"attributes", Answer::array({attribute("service.name", Span::Text{service}),
                                    attribute("service.version", Span::Text{std::string(version())})})}};
  const Answer scope{{"name", "relucent"}, {"version", std::string(version())}};
  const Answer scoped = Answer::array({Answer{{"scope", scope}, {"spans", std::move(all)}}});
  return to_text({{"resourceSpans", Answer::array({Answer{{"resource", resource}, {"scopeSpans", scoped}}})}});
}

SpanExporter::SpanExporter(Settings settings, std::function<void(const std::string&)> say)
    : settings_(std::move(settings)), say_(std::move(say)) {
  if (!enabled()) return;
  ended_ = false;
  thread_ = std::jthread([this](const std::stop_token& stop) { export_batches(stop); });
}

SpanExporter::~SpanExporter() { (void)close(kLastBatches); }

void SpanExporter::add(Span span) noexcept {
  if (!enabled()) return;
  try {
    const std::lock_guard lock(mutex_);
    if (!closing_ && waiting_.size() < settings_.queue) {
      waiting_.push_back(std::move(span));
      if (waiting_.size() == settings_.batch) changed_.notify_all();
      return;
    }
  } catch (const std::exception&) {  // no memory
  }
  ++dropped_;
}

bool SpanExporter::close(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  const auto has_ended = [this] { return ended_; };
  if (changed_.wait_for(lock, limit, has_ended)) return true;
  thread_.request_stop();
  return changed_.wait_for(lock, kAbort, has_ended);
}

void SpanExporter::export_batches(const std::stop_token& stop) {
  for (;;) {
    std::vector<Span> batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, settings_.interval, [this] { return closing_ || waiting_.size() >= settings_.batch; });
      const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), settings_.batch));
      batch.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.begin() + count));
      waiting_.erase(waiting_.begin(), waiting_.begin() + count);
      if (batch.empty() && closing_) {
        ended_ = true;
        changed_.notify_all();
        return;
      }
    }
    if (!batch.empty()) export_batch(batch, stop);
  }
}

void SpanExporter::export_batch(const std::vector<Span>& batch, const std::stop_token& stop) {
  std::string problem = "stopped";
  try {
    if (!stop.stop_requested()) problem = settings_.send(otlp_json(batch, settings_.service), stop);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (problem.empty()) {
    exported_ += batch.size();
    return;
  }
  dropped_ += batch.size();
  if (said_ || stop.stop_requested()) return;
  said_ = true;
  say_(fmt::format("warning: spans are dropped (told once): {}", problem));
}

}  // namespace relucent::server
