#include "plugin/lucene/log.h"

#include <fmt/core.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "relucent/error.h"

namespace relucent {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  return spdlog::level::warn;
}

}  // namespace

Log::Log(const LogConfig& config) {
  spdlog::sink_ptr sink;
  if (config.file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(config.file);
    } catch (const std::exception& error) {
      throw Error(ErrorKind::io, config.file, fmt::format("the log file cannot be written: {}", error.what()),
                  "set [log] file to a writable file, or leave it empty for standard error");
    }
  }
  logger_ = std::make_shared<spdlog::logger>("relucent", std::move(sink));
  logger_->set_level(level_of(config.level));
  logger_->flush_on(spdlog::level::warn);
}

Log::~Log() = default;

void Log::debug(const std::string& message) const { logger_->debug("{}", message); }
void Log::info(const std::string& message) const { logger_->info("{}", message); }
void Log::warning(const std::string& message) const { logger_->warn("{}", message); }
bool Log::wants_debug() const { return logger_->should_log(spdlog::level::debug); }

}  // namespace relucent
