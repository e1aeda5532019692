#include "server/access_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "base/utf8.h"
#include "relucent/error.h"
#include "relucent/times.h"
#include "server/json.h"

namespace relucent::server {
namespace {

// Of what a client may choose freely.
constexpr std::size_t kMaxText = 200;

std::string now() {
  const auto time = std::chrono::system_clock::now();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()) % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)),
                     milliseconds.count());
}

std::string shortened(std::string_view text) { return std::string(utf8_prefix(text, kMaxText)); }

}  // namespace

AccessLog::AccessLog(const std::string& file) : file_(file) { open(); }

AccessLog::~AccessLog() {
  if (out_ != nullptr && out_ != stdout) std::fclose(out_);
}

void AccessLog::open() {
  if (file_.empty()) return;
  std::FILE* const out = file_ == "-" ? stdout : std::fopen(file_.c_str(), "ae");
  if (out == nullptr) {
    throw Error(ErrorKind::io, file_, fmt::format("cannot be written: {}", std::strerror(errno)),
                "choose another [server] access_log");
  }
  if (out_ != nullptr && out_ != stdout) std::fclose(out_);
  out_ = out;
}

void AccessLog::reopen() {
  const std::lock_guard lock(mutex_);
  open();
}

void AccessLog::add(const HttpRequest& request, const HttpResponse& response, const std::string& client, bool cut) {
  if (file_.empty()) return;
  Answer line{{"time", now()},
              {"client", shortened(client)},
              {"method", shortened(request.method)},
              {"path", shortened(request.path)},
              {"status", response.status},
              {"milliseconds", in_milliseconds(time_since(request.arrived))}};
  for (const auto& [name, value] : response.measures) {
    line[name] = std::visit([](auto number) { return Answer(number); }, value);
  }
  if (!response.note.empty()) line["note"] = response.note;
  if (cut) line["cut"] = true;
  if (const auto agent = request.header("user-agent"); !agent.empty()) line["user_agent"] = shortened(agent);
  const std::string text = to_text(line) + "\n";
  const std::lock_guard lock(mutex_);
  if (out_ == nullptr) return;
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

}  // namespace relucent::server
