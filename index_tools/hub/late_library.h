#pragma once

#include <string>

namespace relucent::index_tools {

/// A shared library that is loaded when it is needed and stays: every other command starts without it and without all
/// that it needs itself.
class LateLibrary {
 public:
  /// `file`: its name for the dynamic linker; `package`: what to install. Throws Error `unsupported` if it is missing.
  LateLibrary(const char* file, const char* package);

  /// Its function `name`. Throws Error `unsupported`.
  template <typename Function>
  void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  std::string file_, package_;
  void* library_;
};

}  // namespace relucent::index_tools
