// Refusals of the system (files, memory, threads, permission) are reported as such, never as damage; and what the
// library leaves alone: links, other programs' locks, the environment.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/filesystem/path.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>

#include "relucent/error.h"
#include "tests/support/first_stage_support.h"

namespace {

std::atomic<int> threads_left = -1;  // that the system still gives; -1: as many as it has

}  // namespace

// Found before libc's by everything in the process.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                              void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  return create(thread, attributes, work, argument);
}

extern char** environ;

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

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

TEST(WriteLock, ExcludesLucenesOwnWritersAndTheyUs) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(3), 3);
  {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
    // Lucene++ waits for the lock longer than it promises: in a process of its own, which an alarm ends.
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
  const auto writer = stock_writer(folder.path(), false);  // of this process
  for (int i = 0; i < 2; ++i) EXPECT_THROW(open_builder(folder.path(), IndexBuilder::Mode::append), Error);
  writer->close();
  EXPECT_NO_THROW(open_builder(folder.path(), IndexBuilder::Mode::append)->close());
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

/// Registered a second time with a locale that does not exist, and with none.
TEST(FirstStageLocale, EnvironmentAndLocalesStayAsTheyAre) {
  TemporaryFolder folder;
  const auto before = environment();
  const std::string locale = std::setlocale(LC_ALL, nullptr), cpp_locale = std::locale().name();
  const void* conversion = nullptr;
  try {
    conversion = &boost::filesystem::path::codecvt();
  } catch (const std::runtime_error&) {  // the locale does not exist
  }
  const fs::path index = folder / "\xC3\xBC\xE2\x82\xAC index";
  write_own(index, some_documents(30), 10);
  EXPECT_EQ(search(open_bm25(index), term_query("common"), 10).total, 30);
  EXPECT_EQ(environment(), before);
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), locale);
  EXPECT_EQ(std::locale().name(), cpp_locale);
  if (conversion != nullptr) {
    EXPECT_EQ(&boost::filesystem::path::codecvt(), conversion);
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

/// Whether `work` ends well; a refusal must be an Error `io` that has one of `reasons` in it.
bool ends_well(const std::function<void()>& work, std::initializer_list<const char*> reasons) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    const std::string message = error.what();
    bool said = false;
    for (const char* reason : reasons) said = said || message.find(reason) != std::string::npos;
    EXPECT_TRUE(error.kind() == ErrorKind::io && said) << message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an Error: " << error.what();
  }
  return false;
}

TEST(Refusals, TooFewDescriptorsAreNoDamage) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "SKIPPED: UBSan needs descriptors of its own to check an exception's type";
#endif
  TemporaryFolder folder;
  write_own(folder / "own", some_documents(300), 100);
  write_stock(folder / "stock", some_documents(300), 100);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int first = ::dup(0);
  ::close(first);
  int refused = 0, done = 0;
  for (int more = 0; more < 60; ++more) {
    rlimit limit = before;
    limit.rlim_cur = static_cast<rlim_t>(first) + static_cast<rlim_t>(more);
    for (const char* index : {"own", "stock", "new"}) {
      const fs::path place = folder / index;
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
      const bool well = ends_well(
          [&] {
            if (index[0] != 'n') {
              search(open_bm25(place), term_query("common"), 10);
            } else {
              const auto builder = open_builder(place, IndexBuilder::Mode::overwrite);
              for (const auto& document : some_documents(50)) builder->add(document.id, document.text);
              builder->close();
            }
          },
          {"Too many open files"});
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
      ++(well ? done : refused);
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(done, 60);
}

/// Runs `work` in a process of its own; its failures are told here.
template <typename Work>
void in_another_process(Work&& work) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(Refusals, NoPermissionIsNoDamage) {
  if (::getuid() != 0) GTEST_SKIP() << "SKIPPED: needs root's rights, to give them up";
  TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  if (::access(folder.path().parent_path().c_str(), X_OK) != 0) GTEST_SKIP();
  const fs::path index = folder / "index";
  for (const bool own : {true, false}) {
    fs::remove_all(index);
    own ? write_own(index, some_documents(30), 30) : write_stock(index, some_documents(30), 30);
    std::vector<fs::path> places = {index};
    for (const auto& file : fs::directory_iterator(index)) places.push_back(file.path());
    for (const fs::path& place : places) {
      SCOPED_TRACE(place);
      const auto before = fs::status(place).permissions();
      fs::permissions(place, fs::perms::none);
      in_another_process([&] {
        if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
        const std::string name = place.filename().string();
        const bool needed = !name.ends_with(".gen");
        const bool well = ends_well([&] { search(open_bm25(index), term_query("common"), 10); }, {"Permission denied"});
        EXPECT_TRUE(!well || !needed) << name;
        EXPECT_FALSE(ends_well([&] { open_builder(index, IndexBuilder::Mode::overwrite); }, {"Permission denied"}));
      });
      fs::permissions(place, before);
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Refusals, TooLittleMemoryIsNoDamage) {
  TemporaryFolder folder;
  write_own(folder / "own", some_documents(30000), 30000);
  for (const int kilobytes : {0, 64, 128, 256, 512, 768, 1024, 1536, 2048, 4096, 8192, 16384, 65536}) {
    SCOPED_TRACE(kilobytes);
    in_another_process([&] {
      const std::vector<TestDocument> documents = some_documents(2000);
      const auto limited = static_cast<rlim_t>(address_space() + static_cast<std::size_t>(kilobytes) * 1024);
      const rlimit limit{limited, limited};
      if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(2);
      ends_well([&] { search(open_bm25(folder / "own"), flat_query("common number3 here"), 10); }, {"out of memory"});
      ends_well(
          [&] {
            IndexBuilder::Options options;
            options.threads = 4;
            const auto builder = IndexBuilder::open(folder / "new", IndexBuilder::Mode::overwrite, options);
            for (const auto& document : documents) builder->add(document.id, document.text);
            builder->close();
          },
          {"out of memory"});
    });
  }
}
#endif

}  // namespace
}  // namespace relucent::testing
