// store_fixture.h -- a folder of its own for each test, and rows to fill stores with.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "store/store.h"

namespace gemmsmith {

inline const Environment kH200{"NVIDIA H200, 132 SMs, sm_90, driver 580, cublas 13.1.0", 1};

// Of the winner that fill() sets: a kernel that is legal for its problem.
inline const std::string kWinnerConfig = "sm80_mma:m16.n16.wm1.wn1.s2.g1";

Problem problem_of(std::int64_t m, std::int64_t n = 64, std::int64_t k = 64);
Run run_of(const std::string& id);
StoredMeasurement row_of(const Problem& problem, const std::string& config, const std::string& run);
StoredCounters counters_of(const Problem& problem, const std::string& config,
                           const std::string& run);
Winner winner_of(const Problem& problem, const std::string& config, const std::string& run);

// The value, where a test goes on only with one; by value, so that a loop may run over it.
template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << (result ? "" : result.error().what);
  return std::move(*result);
}

// Runs `work` in a child process and gives its exit code; 128 + signal where one ended it.
int in_child(const std::function<int()>& work);

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::filesystem::path file(const std::string& name = "store.db") const {
    return directory_ / name;
  }
  Store must_open(const std::filesystem::path& path,
                  Store::Mode mode = Store::Mode::kReadWrite) const;
  // A closed store with one run, `rows` measurements and a winner.
  void fill(const std::filesystem::path& path, int rows) const;
  // The error of opening; the test fails where it opens.
  std::string open_error(const std::filesystem::path& path, Store::Mode mode) const;

  std::filesystem::path directory_;
};

}  // namespace gemmsmith
