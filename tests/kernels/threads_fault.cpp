// Threads that the system refuses end in an error, never in a process that ends or waits for ever.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "base/thread_pool.h"
#include "relucent/error.h"
#include "relucent/kernels/peak.h"
#include "tests/support/expect_error.h"

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

namespace relucent {
namespace {

template <typename Work>
void expect_refusal(int left, Work&& work) {
  threads_left = left;
  const Error error = testing::expect_error(ErrorKind::io, [&] { work(); });
  EXPECT_EQ(error.place(), "threads");
  threads_left = -1;
}

TEST(RefusedThreads, EndThePoolInAnError) {
  for (const int left : {0, 1, 3}) expect_refusal(left, [] { ThreadPool pool(4); });
  EXPECT_EQ(ThreadPool(4).size(), 4);
}

TEST(RefusedThreads, EndTheMeasurementOfThePeakInAnError) {
  BackendInfo info;
  info.device = "cpu";
  info.instruction_set = "plain";
  info.threads = 4;
  for (const int left : {0, 1, 3}) expect_refusal(left, [&] { measured_peak(info); });
  const Peak peak = measured_peak(info);
  EXPECT_GT(peak.lowest, 0);
  EXPECT_GE(peak.best, peak.lowest);
}

}  // namespace
}  // namespace relucent
