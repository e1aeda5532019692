// Scorer modules that go wrong, one a value of VARIANT; loaded by rescoring_modules.cpp and, the one that hangs, by the
// server's tests.
#include <chrono>
#include <stdexcept>
#include <thread>

#include "relucent/scorer.h"

#define NO_SYMBOLS 0
#define NO_FACTORY 1
#define OTHER_ABI 2
#define THROWS 3
#define THROWS_ERROR 4
#define THROWS_INTEGER 5
#define RETURNS_NULL 6
#define HANGS 7

#if VARIANT == THROWS_ERROR
#include "relucent/error.h"
#endif

#if VARIANT == HANGS
namespace {

/// Looks at no stop signal, as code stuck in a hostile text.
class Hanging : public relucent::Scorer {
 public:
  void score(std::string_view, std::span<const relucent::Candidate>, std::span<relucent::CandidateScore>,
             const relucent::StopSignal&) const override {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  std::string describe() const override { return "hanging"; }
};

}  // namespace
#endif

#if VARIANT == OTHER_ABI
extern "C" RELUCENT_API const int relucent_scorer_abi = relucent::kScorerAbi + 1;
#elif VARIANT != NO_SYMBOLS
extern "C" RELUCENT_API const int relucent_scorer_abi = relucent::kScorerAbi;
#endif

#if VARIANT != NO_SYMBOLS && VARIANT != NO_FACTORY
extern "C" RELUCENT_API relucent::Scorer* relucent_make_scorer(const relucent::ScorerConfig&) {
#if VARIANT == THROWS
  throw std::runtime_error("the module's own complaint");
#elif VARIANT == THROWS_ERROR
  throw relucent::Error(relucent::ErrorKind::unsupported, "module", "needs a newer machine", "buy one");
#elif VARIANT == THROWS_INTEGER
  throw 42;
#elif VARIANT == HANGS
  return new Hanging();
#else
  return nullptr;
#endif
}
#endif
