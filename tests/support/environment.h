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

}  // namespace relucent::testing
