#pragma once

#include "relucent/config.h"
#include "server/span_exporter.h"

namespace relucent::program {

/// Where `serve` sends its spans: [server] otlp_endpoint, or what OpenTelemetry's variables of the environment name.
/// Without an endpoint the settings export nothing, and libcurl is not loaded. Throws Error.
server::SpanExporter::Settings trace_export_settings(const ServerConfig& config);

}  // namespace relucent::program
