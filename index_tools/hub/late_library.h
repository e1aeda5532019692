#pragma once

#include <string>

namespace relucent::index_tools {

/// A shared library that is loaded when it is needed and stays: every other command starts without it and without all
/// that it needs itself.
class LateLibrary {
 public:
  /// `file`: its name for the dynamic linker; `package`: what to install. Throws Error `unsupported` if it is missing.
  LateLibrary(const char* file, const char* package);

  /// A function, which becomes a pointer of the type that it is assigned to.
  struct Function {
    void* address;
    template <typename Signature>
    operator Signature*() const noexcept {
      return reinterpret_cast<Signature*>(address);
    }
  };
  /// Its function `name`. Throws Error `unsupported`.
  Function find(const char* name) const;

 private:
  std::string file_, package_;
  void* library_;
};

}  // namespace relucent::index_tools
