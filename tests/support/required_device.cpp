// Linked into the test programs that run on a device: a run of no test is a failure where the device is required, and
// so is every skipped test with RELUCENT_REQUIRE_DEVICE=1.
#include "tests/support/required_device.h"

namespace relucent::testing {
namespace {

class EveryTestRan : public ::testing::EmptyTestEventListener {
  void OnTestIterationEnd(const ::testing::UnitTest& all, int) override {
    if (::testing::GTEST_FLAG(list_tests)) return;
    if (device_is_required() && all.test_to_run_count() == 0) {
      ADD_FAILURE() << "no test was selected, but the device is required";
    }
    if (every_test_is_required() && all.skipped_test_count() > 0) {
      ADD_FAILURE() << all.skipped_test_count() << " tests were skipped, but RELUCENT_REQUIRE_DEVICE is 1";
    }
  }
};

// GoogleTest owns it.
const bool kListening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new EveryTestRan);
  return true;
}();

}  // namespace
}  // namespace relucent::testing
