// cubin_cache_test.cpp -- what is found is what was put, or nothing: whatever happens to the
// folder, to the files, or to the processes that share it.
#include "compile/cubin_cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "support/scratch.h"

namespace gemmsmith::compile {
namespace {

using testing::ScratchFolder;

constexpr std::int64_t kRoomy = 1 << 30;

// A kernel whose every byte follows from `seed`, so that a reader can tell any mixture.
CompiledKernel made_kernel(int seed, std::size_t cubin_bytes = 5000) {
  CompiledKernel kernel;
  kernel.hash = hash128_hex("kernel " + std::to_string(seed));
  kernel.cubin.assign(cubin_bytes, static_cast<char>(seed));
  kernel.status = KernelStatus::kOk;
  kernel.registers = 100 + seed;
  kernel.static_shared_bytes = seed;
  kernel.spill_bytes = 0;
  kernel.stack_bytes = 8 * seed;
  kernel.log = "log of " + std::to_string(seed);
  kernel.compile_s = 0.5 + seed;
  return kernel;
}

bool same(const CompiledKernel& a, const CompiledKernel& b) {
  return a.hash == b.hash && a.cubin == b.cubin && a.status == b.status &&
         a.registers == b.registers && a.static_shared_bytes == b.static_shared_bytes &&
         a.spill_bytes == b.spill_bytes && a.stack_bytes == b.stack_bytes && a.log == b.log &&
         a.compile_s == b.compile_s;
}

TEST(CubinCache, FindsWhatWasPut) {
  const ScratchFolder folder;
  CubinCache cache(folder / "cubins", kRoomy);
  const CompiledKernel kernel = made_kernel(3);
  EXPECT_FALSE(cache.find(kernel.hash));
  cache.put(kernel);
  const auto found = cache.find(kernel.hash);
  ASSERT_TRUE(found);
  EXPECT_TRUE(same(*found, kernel));
  EXPECT_TRUE(found->from_cache);
}

TEST(CubinCache, KeepsFailuresToo) {
  const ScratchFolder folder;
  CubinCache cache(folder.path(), kRoomy);
  CompiledKernel kernel = made_kernel(4, 0);
  kernel.status = KernelStatus::kCompileError;
  kernel.log = "error: identifier \"\xff\" is undefined";  // not UTF-8
  cache.put(kernel);
  const auto found = cache.find(kernel.hash);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, KernelStatus::kCompileError);
  EXPECT_NE(found->log.find("is undefined"), std::string::npos);
}

RC_GTEST_PROP(CubinCache, AnyCubinComesBack, (const std::string& cubin)) {
  const ScratchFolder folder;
  CubinCache cache(folder.path(), kRoomy);
  CompiledKernel kernel = made_kernel(1);
  kernel.cubin = cubin;
  cache.put(kernel);
  const auto found = cache.find(kernel.hash);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->cubin == cubin);
}

class DamagedEntry : public ::testing::Test {
 protected:
  void SetUp() override {
    cache_.put(kernel_);
    bytes_ = *read_file(cache_.path_of(kernel_.hash));
  }
  bool found_after_writing(const std::string& bytes) {
    std::ofstream(cache_.path_of(kernel_.hash), std::ios::binary) << bytes;
    return cache_.find(kernel_.hash).has_value();
  }
  ScratchFolder folder_;
  CubinCache cache_{folder_.path(), kRoomy};
  CompiledKernel kernel_ = made_kernel(7, 600);
  std::string bytes_;
};

TEST_F(DamagedEntry, AFlippedBitIsAMissAtEveryOffset) {
  ASSERT_TRUE(found_after_writing(bytes_));
  for (std::size_t at = 0; at < bytes_.size(); ++at) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    EXPECT_FALSE(found_after_writing(damaged)) << "offset " << at;
  }
}

TEST_F(DamagedEntry, ATruncatedFileIsAMissAtEveryLength) {
  for (std::size_t length = 0; length < bytes_.size(); ++length)
    EXPECT_FALSE(found_after_writing(bytes_.substr(0, length))) << "length " << length;
}

TEST_F(DamagedEntry, GrownFileIsAMiss) { EXPECT_FALSE(found_after_writing(bytes_ + "x")); }

TEST_F(DamagedEntry, AnEntryUnderAnotherNameIsAMiss) {
  const std::string other = hash128_hex("another");
  std::filesystem::copy_file(cache_.path_of(kernel_.hash), cache_.path_of(other));
  EXPECT_FALSE(cache_.find(other));
}

TEST_F(DamagedEntry, PutMakesItWholeAgain) {
  ASSERT_FALSE(found_after_writing("rubbish"));
  cache_.put(kernel_);
  ASSERT_TRUE(cache_.find(kernel_.hash));
}

// Looking for it, and putting it there, waited for the pipe's other end.
TEST_F(DamagedEntry, APipeInItsPlaceIsReplaced) {
  const std::filesystem::path path = cache_.path_of(kernel_.hash);
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(cache_.find(kernel_.hash));
  cache_.put(kernel_);
  EXPECT_TRUE(cache_.find(kernel_.hash));
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST(CubinCache, AFolderThatCannotBeMadeIsNoError) {
  const ScratchFolder folder;
  std::ofstream(folder / "file") << "not a folder";
  // /proc refuses new files even to root; below a plain file nothing can be made.
  for (const auto& path : {std::filesystem::path("/proc/gemmsmith-cache"), folder / "file"}) {
    CubinCache cache(path, kRoomy);
    const CompiledKernel kernel = made_kernel(1);
    cache.put(kernel);
    EXPECT_FALSE(cache.find(kernel.hash)) << path;
  }
}

// Runs `work` in a child process that is not root (root may write anywhere); its answer.
template <class Work>
bool as_ordinary_user(Work work) {
  constexpr uid_t kNobody = 65534;
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(CubinCache, AReadOnlyFolderStillServes) {
  const ScratchFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const auto cubins = folder / "cubins";
  CubinCache(cubins, kRoomy).put(made_kernel(1));
  ASSERT_EQ(::chmod(cubins.c_str(), 0555), 0);
  EXPECT_TRUE(as_ordinary_user([&] {
    CubinCache cache(cubins, kRoomy);
    cache.put(made_kernel(2));
    return cache.find(made_kernel(1).hash) && !cache.find(made_kernel(2).hash);
  }));
  ::chmod(cubins.c_str(), 0755);
}

// An entry of 1000 bytes of cubin takes about 1.2 kB.
TEST(CubinCache, TheLeastRecentlyUsedGoFirst) {
  const ScratchFolder folder;
  CubinCache cache(folder.path(), 20'000);
  const auto age = [&](int seed, int seconds_ago) {
    const auto path = cache.path_of(made_kernel(seed).hash);
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::seconds(seconds_ago));
  };
  for (int seed = 0; seed < 10; ++seed) {
    cache.put(made_kernel(seed, 1000));
    age(seed, 1000 - seed);
  }
  ASSERT_TRUE(cache.find(made_kernel(0).hash)) << "using the oldest makes it the newest";
  cache.put(made_kernel(50, 10'000));
  EXPECT_TRUE(cache.find(made_kernel(0).hash));
  EXPECT_TRUE(cache.find(made_kernel(50).hash));
  EXPECT_FALSE(cache.find(made_kernel(1).hash));
  std::int64_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    total += static_cast<std::int64_t>(entry.file_size());
  EXPECT_LE(total, 20'000);
}

TEST(CubinCache, AbandonedTemporariesAreSweptWithTheRest) {
  const ScratchFolder folder;
  const auto old = folder / "x.kernel.1.0.tmp";
  const auto fresh = folder / "y.kernel.2.0.tmp";
  std::ofstream(old) << "half a kernel";
  std::ofstream(fresh) << "being written";
  std::filesystem::last_write_time(
      old, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  CubinCache cache(folder.path(), kRoomy);
  cache.put(made_kernel(1));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_TRUE(std::filesystem::exists(fresh));
}

// Puts and finds kernels 0..9 in a mixed order; false where a find gave anything but the kernel.
bool work_on(CubinCache& cache, int start, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const CompiledKernel kernel = made_kernel((start + 3 * i) % 10);
    if (i % 2 == 0) cache.put(kernel);
    if (const auto found = cache.find(kernel.hash); found && !same(*found, kernel)) return false;
  }
  return true;
}

// One process with 8 threads on one cache object.
bool work_with_threads(const std::filesystem::path& folder, int start) {
  CubinCache cache(folder, 40'000);  // smaller than ten kernels: trimming runs as well
  std::vector<std::thread> threads;
  std::vector<char> good(8, 0);
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back(
        [&, t] { good[t] = work_on(cache, start + static_cast<int>(t), 40) ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  return std::count(good.begin(), good.end(), 1) == 8;
}

TEST(CubinCache, TwoProcessesOfEightThreadsSeeWholeKernelsOnly) {
  const ScratchFolder folder;
  std::vector<pid_t> children;
  for (int child = 0; child < 2; ++child) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) ::_exit(work_with_threads(folder.path(), 5 * child) ? 0 : 1);
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST(CubinCache, AKilledWriterLeavesWholeKernelsOnly) {
  const ScratchFolder folder;
  for (int round = 0; round < 20; ++round) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      CubinCache cache(folder.path(), kRoomy);
      while (work_on(cache, round, 1000)) continue;
      ::_exit(1);
    }
    ::usleep(static_cast<useconds_t>(2000 + 700 * round));
    ::kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer read a mixture";
    CubinCache cache(folder.path(), kRoomy);
    for (int seed = 0; seed < 10; ++seed) {
      const CompiledKernel kernel = made_kernel(seed);
      const bool exists = std::filesystem::exists(cache.path_of(kernel.hash));
      const auto found = cache.find(kernel.hash);
      EXPECT_EQ(found.has_value(), exists) << "round " << round << " kernel " << seed;
      EXPECT_TRUE(!found || same(*found, kernel));
    }
  }
}

TEST(CubinCache, TheUsualPlaceFollowsTheCacheDirectory) {
  const ScratchFolder folder;
  const testing::ScopedVariable variable("GEMMSMITH_CACHE_DIR", folder.path().c_str());
  const auto cache = CubinCache::open_default();
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(cache->directory(), folder / "cubins");
}

TEST(CubinCache, WithoutAHomeThereIsNoCache) {
  const testing::ScopedVariable own("GEMMSMITH_CACHE_DIR", nullptr);
  const testing::ScopedVariable xdg("XDG_CACHE_HOME", nullptr);
  const testing::ScopedVariable home("HOME", nullptr);
  EXPECT_EQ(CubinCache::open_default(), nullptr);
}

}  // namespace
}  // namespace gemmsmith::compile
