#pragma once

#include <string>

#include "tests/support/environment.h"

namespace relucent::testing {

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
