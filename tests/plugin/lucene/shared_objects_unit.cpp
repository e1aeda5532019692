// Lucene++ creates the objects that all threads share at their first use, without a lock: they must exist before.
#include <LuceneObject.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>

#include "relucent/config.h"
#include "relucent/index_builder.h"
#include "relucent/search_session.h"
#include "tests/support/temporary_folder.h"

namespace {
std::atomic<int> objects{0};
}

// Replaces the function of the shared library, which does nothing and is called for each new object.
void Lucene::LuceneObject::initialize() { ++objects; }

namespace relucent::testing {
namespace {

// In a process of its own: nothing here may have used Lucene++ before the first search.
bool write_index(const std::filesystem::path& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto builder = IndexBuilder::open(folder, IndexBuilder::Mode::create, {});
    for (const char* id : {"d1", "d2", "d3"}) builder->add(id, "words in common");
    builder->close();
    ::_exit(0);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int objects_of_a_search(const std::filesystem::path& index, QuerySyntax syntax) {
  const int before = objects;
  Config config;
  config.rescorer.enabled = false;
  const SearchSession session(index, config, syntax);
  for (const char* query : {"common words", "nothing", "comm* \"in common\" words~ [a TO z]"}) {
    session.search(query, 10, HitTexts::whole);
  }
  return objects - before;
}

TEST(SharedObjects, ExistBeforeTheFirstSearch) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_index(folder / "index"));
  for (const QuerySyntax syntax : {QuerySyntax::lucene, QuerySyntax::words}) {
    const int first = objects_of_a_search(folder / "index", syntax);
    EXPECT_GT(first, 100);
    EXPECT_EQ(objects_of_a_search(folder / "index", syntax), first);
  }
}

}  // namespace
}  // namespace relucent::testing
