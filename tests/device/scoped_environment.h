// scoped_environment.h -- an environment variable set for the life of a test.
#pragma once

#include <cstdlib>
#include <string>

namespace gemmsmith::test {

class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment() { ::unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace gemmsmith::test
