#include "tests/cuda_emulator/devices.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/cuda_emulator/memory.h"
#include "tests/cuda_emulator/reports.h"
#include "tests/cuda_emulator/work.h"

namespace relucent::emulator {
namespace {

/// What a thread has chosen, of the devices as they were made by that reset.
struct OfThread {
  std::uint64_t resets = 0;
  std::vector<CUcontext> contexts;
  int device = 0;
};

OfThread& of_thread() {
  thread_local OfThread own;
  if (own.resets != the_devices().resets) {
    own = {the_devices().resets, {}, 0};
  }
  return own;
}

void open_primary(Device& device) {
  if (!device.runtime_retains) {
    device.runtime_retains = true;
    ++device.retained;
    device.was_opened = true;
  }
}

std::size_t parse_number(std::string_view text, bool& good) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  good = good && error == std::errc() && shift >= 0;
  return shift > 0 ? value << shift : value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

bool parse_setting(std::string_view setting, Options& options, std::vector<Failure>& failures) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos) {
    return false;
  }
  const std::string_view key = setting.substr(0, equals);
  const std::string_view value = setting.substr(equals + 1);
  bool good = true;
  const auto number = [&](std::string_view text) { return parse_number(text, good); };
  if (key == "devices") {
    options.devices = static_cast<int>(number(value));
  } else if (key == "name") {
    options.name = value;
  } else if (key == "capability") {
    const auto parts = split(value, '.');
    good = parts.size() == 2;
    options.major = static_cast<int>(number(parts.front()));
    options.minor = static_cast<int>(number(parts.back()));
  } else if (key == "multiprocessors") {
    options.multiprocessors = static_cast<int>(number(value));
  } else if (key == "memory") {
    options.memory = number(value);
  } else if (key == "driver") {
    options.driver = static_cast<int>(number(value));
  } else if (key == "seed") {
    options.seed = number(value);
  } else if (key == "count") {
    write_work_to(std::string(value));
  } else if (key == "fail") {
    const auto parts = split(value, ':');
    Failure failure{std::string(parts[0])};
    failure.remaining = parts.size() > 1 ? number(parts[1]) : 1;
    failure.error = parts.size() > 2 ? static_cast<int>(number(parts[2])) : 0;
    failure.sticky = parts.size() > 3 && parts[3] == "sticky";
    good = good && parts.size() <= 4 && failure.remaining > 0 && (parts.size() < 4 || failure.sticky);
    failures.push_back(failure);
  } else {
    good = false;
  }
  return good;
}

}  // namespace

Devices& the_devices() {
  static Devices& devices = *[] {
    auto* const made = new Devices;
    Options options;
    std::vector<Failure> failures;
    if (const char* const settings = std::getenv("RELUCENT_CUDA_EMULATOR"); settings != nullptr && *settings != 0) {
      for (const std::string_view setting : split(settings, ',')) {
        if (!parse_setting(setting, options, failures)) {
          std::fprintf(stderr,
                       "CUDA emulator: RELUCENT_CUDA_EMULATOR: '%.*s' is not understood; no device will start\n",
                       static_cast<int>(setting.size()), setting.data());
          made->bad_environment = true;
        }
      }
    }
    made->fresh(options);
    made->failures = std::move(failures);
    return made;
  }();
  return devices;
}

std::vector<CUcontext>& the_contexts() { return of_thread().contexts; }

CUcontext current_context() { return the_contexts().empty() ? nullptr : the_contexts().back(); }

int current_device() {
  if (const CUcontext context = current_context()) {
    return context->device;
  }
  const int chosen = of_thread().device;
  return chosen < static_cast<int>(the_devices().all.size()) ? chosen : 0;
}

void set_current_device(int device) {
  of_thread().device = device;
  Device& chosen = *the_devices().all[static_cast<std::size_t>(device)];
  open_primary(chosen);
  if (!the_contexts().empty()) {
    the_contexts().pop_back();
  }
  the_contexts().push_back(&chosen.primary);
}

void use_runtime() {
  if (current_context() == nullptr) {
    set_current_device(current_device());
  }
}

void Devices::fresh(const Options& wanted) {
  options = wanted;
  ++resets;
  exchanges += wanted.same_gpus ? 0 : 1;
  for (CUstream_st* const stream : streams) {
    delete stream;
  }
  for (CUevent_st* const event : events) {
    delete event;
  }
  for (CUgraph_st* const graph : graphs) {
    delete graph;
  }
  for (CUgraphExec_st* const executable : executables) {
    delete executable;
  }
  streams.clear();
  events.clear();
  graphs.clear();
  executables.clear();
  for (const CUcontext context : contexts) {
    delete context;
  }
  contexts.clear();
  cublas_objects.clear();
  failures.clear();
  calls.clear();
  launches = 0;
  all.clear();
  for (int i = 0; i < options.devices; ++i) {
    all.push_back(std::make_unique<Device>());
    all.back()->default_stream.device = i;
    all.back()->primary = {i, true};
  }
  device_memory().release_all();
  pinned_memory().release_all();
}

CUstream_st* Devices::stream_of(cudaStream_t stream) {
  if (stream == nullptr) {
    return &all[static_cast<std::size_t>(current_device())]->default_stream;
  }
  return streams.contains(stream) ? stream : nullptr;
}

cudaError_t Devices::flush(CUstream_st& stream, const CUevent_st* until, std::uint64_t count) {
  while (!stream.queue.empty() && (until == nullptr || until->reached < count)) {
    step(stream);
  }
  return all[static_cast<std::size_t>(stream.device)]->sticky;
}

cudaError_t Devices::step(CUstream_st& stream) {
  Device& device = *all[static_cast<std::size_t>(stream.device)];
  if (device.sticky != cudaSuccess) {
    stream.queue.clear();
  } else if (!stream.queue.empty()) {
    const Operation operation = std::move(stream.queue.front());
    stream.queue.pop_front();
    device.sticky = operation.run();
  }
  return device.sticky;
}

cudaError_t Devices::flush_all(int device) {
  std::vector<CUstream_st*> here{&all[static_cast<std::size_t>(device)]->default_stream};
  for (CUstream_st* const stream : streams) {
    if (stream->device == device) {
      here.push_back(stream);
    }
  }
  if (options.seed % 2 == 0) {
    std::reverse(here.begin(), here.end());
  }
  for (CUstream_st* const stream : here) {
    flush(*stream);
  }
  return all[static_cast<std::size_t>(device)]->sticky;
}

cudaError_t Devices::flush_waiting_for_default(int device) {
  for (CUstream_st* const stream : streams) {
    if (stream->device == device && stream->waits_for_default) {
      flush(*stream);
    }
  }
  return all[static_cast<std::size_t>(device)]->sticky;
}

void Devices::enqueue(CUstream_st& stream, Operation operation) {
  if (stream.capture != nullptr) {
    stream.capture->operations.push_back(std::move(operation));
    return;
  }
  CUstream_st& unnamed = all[static_cast<std::size_t>(stream.device)]->default_stream;
  if (&stream == &unnamed) {
    flush_waiting_for_default(stream.device);
  } else if (stream.waits_for_default) {
    flush(unnamed);
  }
  stream.queue.push_back(std::move(operation));
}

bool Devices::captures() const {
  return std::any_of(streams.begin(), streams.end(), [](const CUstream_st* s) { return s->capture != nullptr; });
}

bool Devices::spoil_captures() {
  bool any = false;
  for (CUstream_st* const stream : streams) {
    if (stream->capture != nullptr && stream->capture->thread == std::this_thread::get_id()) {
      stream->capture->valid = false;
      any = true;
    }
  }
  return any;
}

void report_call(Fault fault, const char* call, std::string message) {
  add_report({fault, call, {}, {}, std::move(message)});
}

Call::Call(const char* name, int failure) : lock_(the_devices().mutex) {
  Devices& devices = the_devices();
  ++devices.calls[name];
  for (auto it = devices.failures.begin(); it != devices.failures.end(); ++it) {
    if (it->call == name && --it->remaining == 0) {
      error_ = it->error != 0 ? it->error : failure;
      injected_ = true;
      if (it->sticky && !devices.all.empty()) {
        const bool cublas = it->call.starts_with("cublas");
        devices.all[static_cast<std::size_t>(current_device())]->sticky =
            cublas ? cudaErrorLaunchFailure : static_cast<cudaError_t>(error_);
      }
      devices.failures.erase(it);
      return;
    }
  }
}

bool check_device_range(const char* call, const void* address, std::size_t bytes, bool reads) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (bytes == 0) {
    return true;
  }
  if (!device_memory().holds(at, bytes)) {
    std::string message = std::string(reads ? "a read of " : "a write of ") + std::to_string(bytes) + " bytes ";
    const Allocation* const allocation = device_memory().contains(at) ? device_memory().find(at) : nullptr;
    if (allocation == nullptr) {
      message += "outside every device allocation";
    } else {
      message += "at byte " + std::to_string(static_cast<std::ptrdiff_t>(at - allocation->address)) +
                 " of an allocation of " + std::to_string(allocation->bytes) + " bytes";
    }
    report_call(Fault::out_of_bounds, call, message);
    return false;
  }
  if (reads) {
    std::uint8_t* const states = device_memory().shadow(at).states;
    const auto* const unwritten = std::find_if(states, states + bytes, [](std::uint8_t s) { return s != written; });
    if (unwritten != states + bytes) {
      const Allocation* const allocation = device_memory().find(at);
      report_call(Fault::uninitialised, call,
                  "read but never written: byte " +
                      std::to_string(at - allocation->address + static_cast<std::size_t>(unwritten - states)) +
                      " of an allocation of " + std::to_string(allocation->bytes) + " bytes");
      std::memset(states, written, bytes);
      return false;
    }
  }
  return true;
}

void mark_written(const void* address, std::size_t bytes) {
  if (bytes > 0) {
    std::memset(device_memory().shadow(reinterpret_cast<std::uintptr_t>(address)).states, written, bytes);
  }
}

// ---- control --------------------------------------------------------------------------------------------------------

void reset(const Options& options) {
  const std::lock_guard lock(the_devices().mutex);
  the_devices().bad_environment = false;
  the_devices().fresh(options);
  clear_reports();
}

void set_seed(std::uint64_t seed) {
  const std::lock_guard lock(the_devices().mutex);
  the_devices().options.seed = seed;
}

void fail(std::string_view call, std::uint64_t nth, int error, bool sticky) {
  const std::lock_guard lock(the_devices().mutex);
  the_devices().failures.push_back({std::string(call), nth, error, sticky});
}

std::map<std::string, std::uint64_t> calls() {
  const std::lock_guard lock(the_devices().mutex);
  return the_devices().calls;
}

void clear_calls() {
  const std::lock_guard lock(the_devices().mutex);
  the_devices().calls.clear();
}

void lose_device(int device) {
  const std::lock_guard lock(the_devices().mutex);
  the_devices().all.at(static_cast<std::size_t>(device))->sticky = cudaErrorDeviceUninitialized;
}

void restore_device(int device) {
  const std::lock_guard lock(the_devices().mutex);
  the_devices().all.at(static_cast<std::size_t>(device))->sticky = cudaSuccess;
}

std::size_t live_allocations() {
  const std::lock_guard lock(the_devices().mutex);
  return device_memory().live();
}

std::size_t live_pinned() {
  const std::lock_guard lock(the_devices().mutex);
  return pinned_memory().live();
}

std::size_t live_streams() {
  const std::lock_guard lock(the_devices().mutex);
  return the_devices().streams.size();
}

std::size_t live_events() {
  const std::lock_guard lock(the_devices().mutex);
  return the_devices().events.size();
}

std::size_t live_graphs() {
  const std::lock_guard lock(the_devices().mutex);
  return the_devices().graphs.size() + the_devices().executables.size();
}

std::size_t live_cublas_objects() {
  const std::lock_guard lock(the_devices().mutex);
  return the_devices().cublas_objects.size();
}

bool has_context(int device) {
  const std::lock_guard lock(the_devices().mutex);
  return the_devices().all.at(static_cast<std::size_t>(device))->retained > 0;
}

bool had_context(int device) {
  const std::lock_guard lock(the_devices().mutex);
  return the_devices().all.at(static_cast<std::size_t>(device))->was_opened;
}

const void* thread_context() {
  const std::lock_guard lock(the_devices().mutex);
  return current_context();
}

std::size_t live_bytes(int device) {
  const std::lock_guard lock(the_devices().mutex);
  return the_devices().all.at(static_cast<std::size_t>(device))->used;
}

}  // namespace relucent::emulator
