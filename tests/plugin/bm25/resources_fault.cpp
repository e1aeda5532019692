// The lock of an index leaves links and other files alone; threads that the system refuses are done without.
#include <gtest/gtest.h>

#include "tests/support/first_stage_support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>

#include "relucent/error.h"

namespace {

std::atomic<int> threads_left = -1;  // that the system still gives; -1: as many as it has

}  // namespace

// Found before libc's by everything in the process.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  return create(thread, attributes, work, argument);
}

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

std::vector<TestDocument> some_documents(int count) {
  std::vector<TestDocument> documents;
  for (int i = 0; i < count; ++i) {
    documents.push_back({"d" + std::to_string(i), "common words and number" + std::to_string(i % 7) + " here"});
  }
  return documents;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::unique_ptr<IndexBuilder> open_builder(const fs::path& folder, IndexBuilder::Mode mode) {
  return IndexBuilder::open(folder, mode, {});
}

TEST(WriteLock, ALinkIsNotFollowed) {
  TemporaryFolder folder;
  const fs::path precious = folder.write("precious", "text");
  for (const fs::path& target : {precious, folder / "absent"}) {
    const fs::path index = folder / "index";
    fs::create_directories(index);
    fs::create_symlink(target, index / "write.lock");
    try {
      open_builder(index, IndexBuilder::Mode::create);
      ADD_FAILURE() << "opened";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_EQ(error.place(), (index / "write.lock").string());
    }
    EXPECT_TRUE(fs::is_symlink(index / "write.lock"));
    fs::remove_all(index);
  }
  EXPECT_EQ(bytes_of(precious), "text");
  EXPECT_FALSE(fs::exists(folder / "absent"));
}

TEST(WriteLock, WhatStandsThereIsReplacedNotWrittenTo) {
  TemporaryFolder folder;
  const fs::path precious = folder.write("precious", "text");
  fs::create_directory(folder / "index");
  fs::create_hard_link(precious, folder / "index" / "write.lock");
  const auto builder = open_builder(folder / "index", IndexBuilder::Mode::create);
  EXPECT_EQ(bytes_of(precious), "text");
  EXPECT_EQ(bytes_of(folder / "index" / "write.lock"), std::to_string(getpid()) + "\n");
  builder->close();
  EXPECT_FALSE(fs::exists(folder / "index" / "write.lock"));
  EXPECT_EQ(bytes_of(precious), "text");
}

TEST(WriteLock, WhatIsNoFileIsAnErrorAndNotWaitedFor) {
  TemporaryFolder folder;
  const fs::path lock = folder / "write.lock";
  for (const bool pipe : {true, false}) {
    if (pipe) {
      ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
    } else {
      fs::create_directory(lock);
    }
    EXPECT_THROW(open_builder(folder.path(), IndexBuilder::Mode::create), Error);
    fs::remove(lock);
  }
}

TEST(WriteLock, ExcludesLucenesOwnWriters) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(3), 3);
  {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
    // Lucene++ waits for the lock, longer than it says: in a process of its own, which an alarm ends.
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(1);
      try {
        stock_writer(folder.path(), false);
      } catch (const Lucene::LuceneException&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "opened";
  }
}

TEST(Threads, WhereTheSystemHasNoMoreTheOthersDoTheWork) {
  for (const int left : {0, 1, 3, -1}) {
    TemporaryFolder folder;
    IndexBuilder::Options options;
    options.threads = 8;
    options.buffer_mb = 1;
    threads_left = left;
    const auto documents = some_documents(20000);
    EXPECT_NO_THROW(write_own(folder.path(), documents, 7000, options)) << left;
    threads_left = -1;
    const auto hits = search(open_bm25(folder.path()), flat_query("common number3"), 50);
    EXPECT_EQ(hits.total, 20000);
  }
}

}  // namespace
}  // namespace relucent::testing
