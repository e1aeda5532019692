#include "index_tools/program/trace_export.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "index_tools/hub/http_client.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The path of OTLP/HTTP below an endpoint.
std::string traces_url(std::string endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint + "/v1/traces";
}

std::string url_of(const ServerConfig& config) {
  if (!config.otlp_endpoint.empty()) return traces_url(config.otlp_endpoint);
  if (std::string url = environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); !url.empty()) return url;
  const std::string endpoint = environment("OTEL_EXPORTER_OTLP_ENDPOINT");
  return endpoint.empty() ? std::string() : traces_url(endpoint);
}

/// name=value,name=value
index_tools::HttpPost::Headers headers_of(std::string_view text) {
  index_tools::HttpPost::Headers headers;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (trim(pair).empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string_view name = trim(pair.substr(0, equals));
    if (equals == pair.npos || name.empty()) {
      throw Error(ErrorKind::usage, "OTEL_EXPORTER_OTLP_HEADERS", "is not a list of name=value, separated by commas",
                  "for example: authorization=Bearer abc");
    }
    headers.emplace_back(name, trim(pair.substr(equals + 1)));
  }
  return headers;
}

}  // namespace

server::SpanExporter::Settings trace_export_settings(const ServerConfig& config) {
  server::SpanExporter::Settings settings;
  const std::string url = url_of(config);
  if (url.empty()) return settings;
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    throw Error(ErrorKind::usage, "OTEL_EXPORTER_OTLP_ENDPOINT", url + " is not a URL of http or https",
                "for example: http://127.0.0.1:4318");
  }
  const auto post = std::make_shared<index_tools::HttpPost>(url, headers_of(environment("OTEL_EXPORTER_OTLP_HEADERS")));
  settings.send = [post](const std::string& body, const std::stop_token& stop) { return post->send(body, stop); };
  if (std::string name = environment("OTEL_SERVICE_NAME"); !name.empty()) settings.service = std::move(name);
  return settings;
}

}  // namespace relucent::program
