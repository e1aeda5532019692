#pragma once

#include <cstdlib>
#include <string>

namespace relucent::testing {

/// An environment variable's value for as long as this lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (had_)
      ::setenv(name_, before_.c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  bool had_;
  std::string before_;
};

#ifdef RELUCENT_FAKE_CUDA_MODULES
/// Makes the library take a fake CUDA module (tests/cuda/fake_module.cpp) that behaves as `told`.
class FakeCuda {
 public:
  explicit FakeCuda(const std::string& told = "", const std::string& variant = "fake_cuda")
      : module_("RELUCENT_CUDA_MODULE", std::string(RELUCENT_FAKE_CUDA_MODULES) + "/" + variant + ".so"),
        told_("RELUCENT_FAKE_CUDA", told) {}

 private:
  Environment module_, told_;
};
#endif

/// A machine whose library has no CUDA module.
inline Environment no_cuda_module() { return {"RELUCENT_CUDA_MODULE", "/no/such/librelucent_cuda.so"}; }

}  // namespace relucent::testing
