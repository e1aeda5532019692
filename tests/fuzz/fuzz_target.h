// A fuzz target: RELUCENT_FUZZ_TARGET(name) { ... } in targets/name.cpp reads `input`, which is of any bytes. Built
// with clang it is a program of libFuzzer; in the suite, seeds_fuzz.cpp gives it the files of corpus/name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include "relucent/error.h"

namespace relucent::fuzz {

/// Reads one input: returns, or aborts if it found a bug.
using Target = void (*)(std::string_view input);

/// The targets of this program by name: all of them in the suite, one in a program of libFuzzer.
inline std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

inline bool add_target(const char* name, Target target) { return targets().emplace(name, target).second; }

/// What the target reads at the moment. A message may quote it.
inline std::string_view& given_input() {
  static std::string_view input;
  return input;
}

/// Ends the process and so reports the input as a finding.
[[noreturn]] inline void report(const std::string& bug) {
  std::fprintf(stderr, "FINDING: %s\n", bug.c_str());
  std::abort();
}

/// Runs `read`, which may give an answer or throw an Error that names a problem and is not a bug of the library. With
/// RELUCENT_FUZZ_VERBOSE in the environment it prints the Error. Exceptions of the JSON library that were made an Error
/// are bugs: they state no key and no remedy.
template <typename Read>
void answer_or_error(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) report(std::string("an internal error: ") + error.what());
    if (error.problem().empty()) report("an Error without a problem");
    constexpr std::string_view of_json = "[json.exception.type_error";
    if (std::string_view(error.what()).find(of_json) != std::string_view::npos &&
        given_input().find(of_json) == std::string_view::npos) {
      report(std::string("a type that was not checked: ") + error.what());
    }
    if (std::getenv("RELUCENT_FUZZ_VERBOSE") != nullptr) std::fprintf(stderr, "%s\n", error.what());
  } catch (const std::exception& error) {
    report(std::string("an exception other than Error: ") + error.what());
  }
}

}  // namespace relucent::fuzz

#ifdef RELUCENT_LIBFUZZER
#define RELUCENT_FUZZ_ENTRY(name)                                                      \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { \
    relucent::fuzz::name##_target({reinterpret_cast<const char*>(bytes), size});       \
    return 0;                                                                          \
  }
#else
#define RELUCENT_FUZZ_ENTRY(name) \
  [[maybe_unused]] const bool name##_added = relucent::fuzz::add_target(#name, relucent::fuzz::name##_target);
#endif

#define RELUCENT_FUZZ_TARGET(name)                    \
  namespace relucent::fuzz {                          \
  static void name##_reads(std::string_view input);   \
  static void name##_target(std::string_view input) { \
    given_input() = input;                            \
    name##_reads(input);                              \
  }                                                   \
  }                                                   \
  RELUCENT_FUZZ_ENTRY(name)                           \
  static void relucent::fuzz::name##_reads([[maybe_unused]] std::string_view input)
