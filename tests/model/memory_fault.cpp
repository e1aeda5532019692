// No memory for a JSON file: each allocation fails in turn, alone and with all after it. That ends in a std::bad_alloc
// that leaves nothing behind. The JSON library alone would end the process: its values need memory to be destroyed.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "model/formats/json_file.h"
#include "relucent/error.h"
#include "tests/support/failing_memory.h"
#include "tests/support/temporary_folder.h"

namespace relucent {
namespace {

/// Arrays in arrays and objects in objects, which the JSON library's destructor would collect in a vector.
std::string nested_json(std::size_t depth) {
  std::string open, close;
  for (std::size_t i = 0; i < depth; ++i) {
    open += R"({"name": [1, "a text that is longer than a short string", [], {"inner": )";
    close += "}]}";
  }
  return open + "[2.5, true, null]" + close;
}

TEST(WithoutMemory, JsonFilesAreRead) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("config.json", nested_json(8));
  testing::fail_each_allocation("read", 100, [&] { return JsonFile::read(path).object().dump(); });
}

TEST(WithoutMemory, JsonFilesAreCopiedAndUpdated) {
  const testing::TemporaryFolder folder;
  const JsonFile file = JsonFile::read(folder.write("config.json", nested_json(4)));
  const JsonFile added =
      JsonFile::read(folder.write("more.json", R"({"name": {"other": [[3]]}, "more": {"a": [{}]}})"));
  testing::fail_each_allocation("update", 50, [&] {
    JsonFile copy = file;
    copy.update(added);
    return copy.object().dump();
  });
}

TEST(WithoutMemory, WrongJsonFilesAreErrors) {
  const testing::TemporaryFolder folder;
  const auto path = folder.write("config.json", R"({"name": [1, {"inner": [2]}], "name": 2})");
  testing::fail_each_allocation("repeated name", 10, [&] {
    try {
      return JsonFile::read(path).object().dump();
    } catch (const Error& error) {
      return error.problem();
    }
  });
}

}  // namespace
}  // namespace relucent
