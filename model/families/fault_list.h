#pragma once

#include <vector>

#include "relucent/error.h"

namespace relucent {

/// Takes the faults of a checkpoint: throws the first one, or keeps them all.
class FaultList {
 public:
  enum class Mode { throw_first, keep_all };

  explicit FaultList(Mode mode) : mode_(mode) {}

  bool keeps_all() const noexcept { return mode_ == Mode::keep_all; }
  void add(const Error& fault) {
    if (!keeps_all()) throw Error(fault);
    all_.push_back(fault);
  }
  /// Whether `work` threw no Error.
  template <typename Work>
  bool attempt(const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& fault) {
      if (!keeps_all()) throw;
      all_.push_back(fault);
      return false;
    }
  }
  const std::vector<Error>& all() const noexcept { return all_; }

 private:
  Mode mode_;
  std::vector<Error> all_;
};

}  // namespace relucent
