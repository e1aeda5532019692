#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>

namespace relucent {

/// Deletes an object with threads, except in a process that was forked after the object was made: that process has none
/// of the threads and would wait for them forever, so there the object stays in memory as it is.
template <typename T>
class DeleteInOwnProcess {
 public:
  DeleteInOwnProcess() = default;
  template <typename Derived>
  DeleteInOwnProcess(const std::default_delete<Derived>&) noexcept {}  // NOLINT: as one pointer becomes another

  void operator()(T* object) const noexcept {
    if (::getpid() == process_) delete object;
  }

 private:
  pid_t process_ = ::getpid();
};

template <typename T>
using OwnedByProcess = std::unique_ptr<T, DeleteInOwnProcess<T>>;

}  // namespace relucent
