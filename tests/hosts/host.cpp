/// A program that knows nothing of Relucent and opens a plugin that does (hosted_search.cpp), in circumstances that a
/// library must bear. Usage: host MODE FOLDER PLUGIN [ARGUMENT]. Exits with 0 if all is well, else with 1 and a
/// message.
///
///   answer      writes an index if there is none, searches it and prints the answers
///   signals     handlers of its own for every signal, and a timer that interrupts every system call
///   stacks      threads with stacks of 256 KiB, which is also the default for the library's own
///   fork        processes forked before, during and after searches
///   reload      the plugin opened and closed in a loop; prints the memory and the threads after each round
///   locale      the locale named by ARGUMENT; prints the answers
///   two         also the plugin named by ARGUMENT, with a library of another version; prints the answers of both
///
/// Compiled with REPLACE_ALLOCATOR, it replaces operator new and delete with ones that notice what is not theirs.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <locale>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#ifdef REPLACE_ALLOCATOR
namespace {
constexpr std::uint64_t kMine = 0x52454c5543454e54;
constexpr std::size_t kRoom = 64;
std::atomic<long> allocations{0};

void* allocate(std::size_t size, std::size_t alignment) {
  const std::size_t room = std::max(kRoom, alignment);
  void* start = nullptr;
  if (::posix_memalign(&start, std::max<std::size_t>(alignment, 16), size + room) != 0) throw std::bad_alloc();
  char* given = static_cast<char*>(start) + room;
  std::memcpy(given - 8, &kMine, 8);
  std::memcpy(given - 16, &start, 8);
  ++allocations;
  return given;
}

void release(void* given) {
  if (given == nullptr) return;
  std::uint64_t mark = 0;
  void* start = nullptr;
  std::memcpy(&mark, static_cast<char*>(given) - 8, 8);
  std::memcpy(&start, static_cast<char*>(given) - 16, 8);
  if (mark != kMine) {
    std::fputs("operator delete got what operator new did not give\n", stderr);
    ::_exit(1);
  }
  std::memset(static_cast<char*>(given) - 16, 0, 16);
  ::free(start);
}
}  // namespace

void* operator new(std::size_t size) { return allocate(size, 16); }
void* operator new[](std::size_t size) { return allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* given) noexcept { release(given); }
void operator delete[](void* given) noexcept { release(given); }
void operator delete(void* given, std::size_t) noexcept { release(given); }
void operator delete[](void* given, std::size_t) noexcept { release(given); }
void operator delete(void* given, std::align_val_t) noexcept { release(given); }
void operator delete[](void* given, std::align_val_t) noexcept { release(given); }
void operator delete(void* given, std::size_t, std::align_val_t) noexcept { release(given); }
void operator delete[](void* given, std::size_t, std::align_val_t) noexcept { release(given); }
#endif

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kQueries = {"how do I keep bread fresh", "IRISES IN INDIA", "rising rivers"};

[[noreturn]] void fail(const std::string& what) {
  std::cerr << "FAILED: " << what << std::endl;
  std::_Exit(1);
}

class Plugin {
 public:
  explicit Plugin(const std::string& file) : library_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) fail(::dlerror());
    load(index, "hosted_index");
    load(open, "hosted_open");
    load(search, "hosted_search");
    load(close, "hosted_close");
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { ::dlclose(library_); }

  char* (*index)(const char*) = nullptr;
  void* (*open)(const char*) = nullptr;
  char* (*search)(void*, const char*) = nullptr;
  void (*close)(void*) = nullptr;

  void* opened(const fs::path& folder) const {
    if (!fs::exists(folder)) {
      if (char* error = index(folder.c_str())) fail(error);
    }
    void* session = open(folder.c_str());
    if (session == nullptr) fail("the index does not open");
    return session;
  }

  std::string answers(void* session) const {
    std::string all;
    for (const std::string& query : kQueries) {
      char* answer = search(session, query.c_str());
      all += query + "\n" + answer;
      std::free(answer);
    }
    if (all.find("error: ") != std::string::npos) fail(all);
    return all;
  }

  std::string answers_of(const fs::path& folder) const {
    void* session = opened(folder);
    std::string found = answers(session);
    close(session);
    return found;
  }

 private:
  template <class Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr) fail(std::string(name) + " is missing");
  }

  void* library_;
};

std::size_t count_threads() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/task")) ++count;
  return count;
}

long resident_kilobytes() {
  std::ifstream file("/proc/self/statm");
  long size = 0, resident = 0;
  file >> size >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

// --- signals

std::atomic<long> alarms{0}, others{0};
void on_alarm(int) { ++alarms; }
void on_other(int) { ++others; }

void signals(const Plugin& plugin, const fs::path& folder) {
  const std::string expected = plugin.answers_of(folder);
  const auto is_ours = [](int number) {
    return number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN) && number <= SIGRTMAX;
  };
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (!is_ours(number)) continue;
    struct sigaction action = {};
    action.sa_handler = number == SIGALRM ? on_alarm : on_other;  // without SA_RESTART: calls fail with EINTR
    if (::sigaction(number, &action, nullptr) != 0) fail("sigaction");
  }
  sigset_t mask = {}, mask_after = {};  // the system fills only a part of them
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  const itimerval every = {{0, 500}, {0, 500}}, never = {};
  ::setitimer(ITIMER_REAL, &every, nullptr);
  for (int round = 0; round < 2; ++round) {
    if (plugin.answers_of(folder) != expected) fail("an answer differs under signals");
    const fs::path other = folder.string() + std::to_string(round);
    if (plugin.answers_of(other) != expected) fail("an index written under signals answers differently");
    fs::remove_all(other);
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    struct sigaction action = {};
    if (!is_ours(number) || ::sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler != (number == SIGALRM ? on_alarm : on_other)) {
      fail("the handler of signal " + std::to_string(number) + " was replaced");
    }
  }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  if (std::memcmp(&mask, &mask_after, sizeof mask) != 0) fail("the signal mask was changed");
  if (alarms < 20) fail("only " + std::to_string(alarms) + " alarms");
  if (others != 0) fail(std::to_string(others) + " signals that nobody sent");
  std::cout << alarms << " alarms\n";
}

// --- stacks

void run_on_stack(std::size_t bytes, const std::function<void()>& work) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  if (::pthread_attr_setstacksize(&attributes, bytes) != 0) fail("the stack's size");
  pthread_t thread = {};
  const auto start = [](void* given) -> void* {
    (*static_cast<const std::function<void()>*>(given))();
    return nullptr;
  };
  if (::pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&work)) != 0) fail("the thread");
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
}

void stacks(const Plugin& plugin, const fs::path& folder) {
  constexpr std::size_t kBytes = std::size_t{256} << 10;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kBytes);
  if (::pthread_setattr_default_np(&attributes) != 0) fail("the default stack's size");
  std::string expected;
  run_on_stack(kBytes, [&] { expected = plugin.answers_of(folder); });
  void* session = plugin.opened(folder);
  std::vector<std::thread> threads;  // also of that size
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) wrong += plugin.answers(session) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  plugin.close(session);
  if (wrong != 0) fail("an answer differs on a small stack");
}

// --- fork

/// Whether the child ended well within a minute; its work returns whether it did.
void in_child(const char* what, const std::function<bool()>& work) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    ::alarm(60);
    std::exit(work() ? 0 : 2);  // with the destructors of the library's statics
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail(std::string(what) + ": status " + std::to_string(status));
}

void forks(const Plugin& plugin, const fs::path& folder) {
  in_child("a child of a process that has loaded the library", [&] { return !plugin.answers_of(folder).empty(); });
  const std::string expected = plugin.answers_of(folder);
  void* session = plugin.opened(folder);
  if (plugin.answers(session) != expected) fail("the parent's first answer");
  in_child("a child with a session of its own", [&] { return plugin.answers_of(folder) == expected; });
  in_child("a child that leaves the parent's session alone", [] { return true; });
  in_child("a child that closes the parent's session", [&] {
    plugin.close(session);
    return true;
  });
  in_child("a child that uses the parent's session", [&] {
    char* answer = plugin.search(session, kQueries[0].c_str());
    const std::string text = answer;
    std::free(answer);
    std::cout << "child: " << text << std::flush;
    return expected.starts_with(kQueries[0] + "\n" + text) || text.find("fork") != std::string::npos;
  });
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!done) wrong += plugin.answers(session) != expected;
    });
  }
  for (int i = 0; i < 4; ++i) {
    in_child("a child forked during searches", [&] { return plugin.answers_of(folder) == expected; });
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  if (wrong != 0 || plugin.answers(session) != expected) fail("the parent answers differently after the forks");
  plugin.close(session);
}

// --- reload

void reload(const std::string& file, const fs::path& folder) {
  std::string expected;
  for (int round = 0; round < 8; ++round) {
    const Plugin plugin(file);
    const std::string found = plugin.answers_of(folder);
    if (round > 0 && found != expected) fail("an answer differs after the plugin was opened again");
    expected = found;
    std::cout << "round " << round << " kilobytes " << resident_kilobytes() << " threads " << count_threads() << "\n";
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const std::string mode = arguments[1], file = arguments[3], argument = count > 4 ? arguments[4] : "";
  const fs::path folder = arguments[2];
  if (mode == "reload") {
    reload(file, folder);
    return 0;
  }
  if (mode == "locale") {
    if (std::setlocale(LC_ALL, argument.c_str()) == nullptr) fail("the locale " + argument + " is absent");
    std::locale::global(std::locale(argument));
  }
  const Plugin plugin(file);
  if (mode == "answer" || mode == "locale") {
    std::cout << plugin.answers_of(folder);
  } else if (mode == "signals") {
    signals(plugin, folder);
  } else if (mode == "stacks") {
    stacks(plugin, folder);
  } else if (mode == "fork") {
    forks(plugin, folder);
  } else if (mode == "two") {
    const Plugin other(argument);
    void* session = plugin.opened(folder);
    void* session_of_other = other.opened(folder);
    if (plugin.answers(session) != other.answers(session_of_other)) fail("the two libraries answer differently");
    other.close(session_of_other);
    if (plugin.search == other.search) fail("the second plugin is the first");
    std::set<std::string> libraries;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      const std::size_t name = line.find("/librelucent.so");
      if (name != std::string::npos) libraries.insert(line.substr(name));
    }
    if (libraries.size() != 2) fail(std::to_string(libraries.size()) + " libraries are loaded instead of two");
    std::cout << plugin.answers(session);
    plugin.close(session);
  } else {
    return 2;
  }
#ifdef REPLACE_ALLOCATOR
  if (allocations < 10000) fail("the library does not use the host's operator new");
#endif
  return 0;
}
