// compiler_test.cpp -- real compilations of small kernels: every verdict, what the cache spares,
// many at once, and stopping.
#include "compile/compiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>

#include "base/interrupt.h"
#include "compile/cubin_cache.h"
#include "support/scratch.h"

namespace gemmsmith::compile {
namespace {

using testing::ScratchFolder;

KernelSource source_of(const std::string& text, const std::string& architecture = "sm_90a") {
  KernelSource source;
  source.name = "test kernel";
  source.file = "test.cu";
  source.text = text;
  source.architecture = architecture;
  source.options = {"--gpu-architecture=" + architecture, "--std=c++17", "-default-device",
                    "--ptxas-options=-v"};
  return source;
}

const char* const kTiny = "extern \"C\" __global__ void tiny(int* x) { *x += 1; }\n";

// 64 values live across a loop do not fit the 24 registers that the launch bounds leave.
KernelSource spilling_source() {
  KernelSource source = source_of(R"(
extern "C" __global__ void spilling(float* x, int n) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = x[i * 32 + threadIdx.x];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 64; ++i) v[i] = v[i] * v[(i + 1) % 64] + 1.0f;
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i * 32 + threadIdx.x] = v[i];
}
)");
  source.options.push_back("--maxrregcount=24");
  return source;
}

// Reads an accumulator between two instructions of one group, without waiting for the first.
KernelSource serialised_source() {
  return source_of(R"(
extern "C" __global__ void serialised(float* x, unsigned long long a, unsigned long long b) {
  float d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int i = 0; i < 2; ++i) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
    d[0] += 1.0f;
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  x[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
)");
}

class CompilerTest : public ::testing::Test {
 protected:
  CompiledKernel compile(const KernelSource& source) {
    auto kernel = compiler_.compile(source);
    EXPECT_TRUE(kernel) << kernel.error().what;
    return kernel ? *kernel : CompiledKernel{};
  }
  ScratchFolder folder_;
  std::shared_ptr<CubinCache> cache_ =
      std::make_shared<CubinCache>(folder_.path(), std::int64_t{1} << 30);
  Compiler compiler_ = *Compiler::open(cache_);
};

TEST_F(CompilerTest, MakesACubinForEachArchitecture) {
  std::set<std::string> hashes;
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    const CompiledKernel kernel = compile(source_of(kTiny, architecture));
    EXPECT_EQ(kernel.status, KernelStatus::kOk) << kernel.log;
    EXPECT_EQ(kernel.cubin.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_GT(kernel.registers, 0);
    EXPECT_EQ(kernel.spill_bytes, 0);
    EXPECT_GT(kernel.compile_s, 0);
    EXPECT_FALSE(kernel.from_cache);
    hashes.insert(kernel.hash);
  }
  EXPECT_EQ(hashes.size(), 2u);
}

TEST_F(CompilerTest, ATextWithAnErrorKeepsTheCompilersWords) {
  const CompiledKernel kernel =
      compile(source_of("extern \"C\" __global__ void k() { nothing; }\n"));
  EXPECT_EQ(kernel.status, KernelStatus::kCompileError);
  EXPECT_TRUE(kernel.cubin.empty());
  EXPECT_NE(kernel.log.find("test.cu(1): error: identifier \"nothing\" is undefined"),
            std::string::npos)
      << kernel.log;
}

TEST_F(CompilerTest, AnUnknownOptionIsTheSourcesFault) {
  KernelSource source = source_of(kTiny);
  source.options.push_back("--no-such-option");
  const CompiledKernel kernel = compile(source);
  EXPECT_EQ(kernel.status, KernelStatus::kCompileError);
  EXPECT_NE(kernel.log.find("--no-such-option"), std::string::npos) << kernel.log;
}

TEST_F(CompilerTest, ASpillIsAVerdict) {
  const CompiledKernel kernel = compile(spilling_source());
  EXPECT_EQ(kernel.status, KernelStatus::kSpill) << kernel.log;
  EXPECT_GT(kernel.spill_bytes, 0);
  EXPECT_GT(kernel.stack_bytes, 0);
  EXPECT_EQ(kernel.registers, 24);
  EXPECT_FALSE(kernel.cubin.empty());
}

TEST_F(CompilerTest, SerialisedWgmmaIsAVerdict) {
  const CompiledKernel kernel = compile(serialised_source());
  EXPECT_EQ(kernel.status, KernelStatus::kSerialised) << kernel.log;
}

TEST_F(CompilerTest, TheCacheGivesTheSameKernel) {
  for (const KernelSource& source :
       {source_of(kTiny), spilling_source(), source_of("not a kernel")}) {
    const CompiledKernel first = compile(source);
    const CompiledKernel second = compile(source);
    EXPECT_FALSE(first.from_cache);
    EXPECT_TRUE(second.from_cache);
    EXPECT_EQ(second.status, first.status);
    EXPECT_TRUE(second.cubin == first.cubin);
    EXPECT_EQ(second.log, first.log);
    EXPECT_EQ(second.registers, first.registers);
    EXPECT_EQ(second.compile_s, first.compile_s);
  }
}

TEST_F(CompilerTest, ACorruptEntryIsCompiledAnew) {
  const CompiledKernel first = compile(source_of(kTiny));
  std::ofstream(cache_->path_of(first.hash), std::ios::binary) << "rubbish";
  EXPECT_FALSE(compile(source_of(kTiny)).from_cache);
  EXPECT_TRUE(compile(source_of(kTiny)).from_cache);
}

TEST_F(CompilerTest, WorksWithoutACache) {
  const auto compiler = Compiler::open(nullptr);
  ASSERT_TRUE(compiler);
  const auto kernel = compiler->compile(source_of(kTiny));
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->status, KernelStatus::kOk);
}

TEST_F(CompilerTest, EverythingButTheNameIsIdentity) {
  const KernelSource plain = source_of(kTiny);
  KernelSource changed = plain;
  changed.name = "another name";
  EXPECT_EQ(compiler_.hash_of(changed), compiler_.hash_of(plain));

  std::set<std::string> hashes = {compiler_.hash_of(plain)};
  changed = plain;
  changed.text += "\n";
  hashes.insert(compiler_.hash_of(changed));
  changed = plain;
  changed.file = "other.cu";
  hashes.insert(compiler_.hash_of(changed));
  changed = plain;
  changed.architecture = "sm_80";
  hashes.insert(compiler_.hash_of(changed));
  changed = plain;
  changed.options.push_back("--maxrregcount=64");
  hashes.insert(compiler_.hash_of(changed));
  changed = plain;
  changed.headers.emplace_back("x.cuh", "");
  hashes.insert(compiler_.hash_of(changed));
  changed.headers[0].second = "int x;";
  hashes.insert(compiler_.hash_of(changed));
  EXPECT_EQ(hashes.size(), 7u);
}

std::vector<KernelSource> numbered_sources(int count) {
  std::vector<KernelSource> sources;
  for (int i = 0; i < count; ++i)
    sources.push_back(
        source_of(fmt::format("extern \"C\" __global__ void tiny(int* x) {{ *x += {}; }}\n", i)));
  return sources;
}

TEST_F(CompilerTest, CompileAllKeepsTheOrderOnEightThreads) {
  const std::vector<KernelSource> sources = numbered_sources(24);
  std::vector<int> calls(sources.size(), 0);
  const auto kernels = compiler_.compile_all(
      sources, 8, [&](std::size_t index, const CompiledKernel&) { ++calls[index]; });
  ASSERT_TRUE(kernels) << kernels.error().what;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ((*kernels)[i].hash, compiler_.hash_of(sources[i]));
    EXPECT_EQ((*kernels)[i].status, KernelStatus::kOk);
    EXPECT_EQ(calls[i], 1);
  }
}

TEST_F(CompilerTest, CompileAllCompilesEqualSourcesOnce) {
  const std::vector<KernelSource> two = numbered_sources(2);
  const std::vector<KernelSource> sources = {two[0], two[1], two[0], two[1]};
  const auto kernels = compiler_.compile_all(sources, 2, {});
  ASSERT_TRUE(kernels);
  EXPECT_TRUE((*kernels)[0].cubin == (*kernels)[2].cubin);
  EXPECT_FALSE((*kernels)[2].from_cache) << "it shares the compilation, not the cache";
}

TEST_F(CompilerTest, CompileAllOfNothingIsNothing) {
  const auto kernels = compiler_.compile_all({}, 4, {});
  ASSERT_TRUE(kernels);
  EXPECT_TRUE(kernels->empty());
}

TEST_F(CompilerTest, AnInterruptKeepsWhatWasFinished) {
  const std::vector<KernelSource> sources = numbered_sources(12);
  std::atomic<int> finished{0};
  const auto kernels = compiler_.compile_all(sources, 2, [&](std::size_t, const CompiledKernel&) {
    if (++finished == 3) set_interrupted(true);
  });
  set_interrupted(false);
  ASSERT_FALSE(kernels);
  EXPECT_EQ(kernels.error().code, ErrorCode::kInterrupted);
  EXPECT_LT(finished, 12);
  const auto cached =
      std::count_if(sources.begin(), sources.end(), [&](const KernelSource& source) {
        return cache_->find(compiler_.hash_of(source)).has_value();
      });
  EXPECT_EQ(cached, finished);
}

}  // namespace
}  // namespace gemmsmith::compile
