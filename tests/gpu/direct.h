// direct.h -- kernels launched without the bench and without the vendor's kernels, each operand in
// an allocation of exactly its size.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/cubin_cache.h"
#include "compile/kernel_source.h"
#include "gpu/gpu.h"
#include "plan/launch_plan.h"

namespace gemmsmith {

class DirectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto context = CudaContext::open(0);
    if (!context) GTEST_SKIP() << "unavailable: " << context.error().what;
    context_.emplace(std::move(*context));
    const auto info = query_device(driver(), 0);
    ASSERT_TRUE(info) << info.error().what;
    target_ = info->target;
    auto compiler = compile::Compiler::open(compile::CubinCache::open_default());
    ASSERT_TRUE(compiler) << compiler.error().what;
    compiler_.emplace(std::move(*compiler));
    const auto utility = [&](const char* file) {
      return compiler_->compile(*compile::utility_source(file, gpu::architecture()))->cubin;
    };
    const std::string harness = utility("harness.cu");
    const std::string reference = utility("reference.cu");
    const std::string pack = utility("pack.cu");
    auto kernels = HarnessKernels::load(driver(), {harness, reference, pack}, target_.sm_count);
    ASSERT_TRUE(kernels) << kernels.error().what;
    kernels_.emplace(std::move(*kernels));
    auto stream = Stream::create(driver());
    ASSERT_TRUE(stream) << stream.error().what;
    stream_ = std::move(*stream);
  }

  const Driver& driver() const { return context_->driver(); }

  // Operands of integers in exact allocations, and the expected result.
  struct Data {
    DeviceBuffer a, b, c, d, expected, report;
    DeviceBuffer workspace, counters;  // give_scratch()'s
    plan::Operands operands() const { return {a.pointer(), b.pointer(), c.pointer(), d.pointer()}; }
  };
  Data make_data(const Problem& p) { return make_data(p, probe_range(p)); }
  Data make_data(const Problem& p, IntegerRange range) {
    Data data;
    const auto allocate = [&](const MatrixShape& shape) {
      auto buffer = DeviceBuffer::allocate(driver(), static_cast<std::size_t>(shape.extent()) * 2);
      EXPECT_TRUE(buffer) << buffer.error().what;
      return std::move(*buffer);
    };
    data.a = allocate(stored_a(p));
    data.b = allocate(stored_b(p));
    data.c = allocate(stored_c(p));
    data.d = allocate(stored_d(p));
    data.expected = allocate(stored_d(p));
    data.report = std::move(*DeviceBuffer::allocate(driver(), sizeof(Report)));
    const CUstream s = stream_.get();
    for (const auto& [buffer, shape] :
         {std::pair{&data.a, stored_a(p)}, std::pair{&data.b, stored_b(p)},
          std::pair{&data.c, stored_c(p)}}) {
      // All of it, so that padding is initialised for initcheck.
      EXPECT_TRUE(kernels_->fill_integers(s, buffer->address(), {1, shape.extent(), shape.extent()},
                                          p.type, range.low, range.high, 1, buffer->address()));
    }
    const plan::Operands into{data.a.pointer(), data.b.pointer(), data.c.pointer(),
                              data.expected.pointer()};
    EXPECT_TRUE(kernels_->reference(s, p, into));
    poison(data, p);
    return data;
  }
  void poison(const Data& data, const Problem& p) {
    EXPECT_TRUE(
        kernels_->fill_pattern(stream_.get(), data.d.address(), stored_d(p).extent(), 0x7fff));
    EXPECT_TRUE(stream_.synchronize());
  }
  std::uint64_t wrong_elements(const Data& data, const Problem& p) {
    Report report;
    EXPECT_TRUE(
        copy_to_device(driver(), data.report.address(), &report, sizeof(report), stream_.get()));
    EXPECT_TRUE(kernels_->compare(stream_.get(), data.d.address(), data.expected.address(),
                                  stored_d(p), p.type, false, data.report.address()));
    EXPECT_TRUE(
        copy_to_host(driver(), &report, data.report.address(), sizeof(report), stream_.get()));
    return report.count;
  }

  struct Loaded {
    Module module;
    plan::LaunchPlan plan;
    plan::Functions functions;
  };
  Loaded load(compile::KernelSource source, const Config& config, const Problem& problem) {
    Loaded loaded;
    const auto kernel = compiler_->compile(source);
    EXPECT_TRUE(kernel) << kernel.error().what;
    EXPECT_EQ(kernel->status, compile::KernelStatus::kOk) << kernel->log;
    loaded.module = std::move(*Module::load(driver(), kernel->cubin, source.name));
    loaded.functions = {*loaded.module.function("gemm"), kernels_->pack()};
    auto plan = plan::make_launch_plan(config, problem, target_);
    EXPECT_TRUE(plan) << plan.error().what;
    loaded.plan = *plan;
    const auto prepared = plan::prepare(driver(), loaded.plan, loaded.functions.gemm);
    EXPECT_TRUE(prepared) << prepared.error().what;
    return loaded;
  }
  Loaded load(const Config& config, const Problem& problem) {
    return load(*compile::kernel_source(config, signature_of(problem), gpu::architecture()), config,
                problem);
  }
  // What the kernel asks for beside its operands, again in allocations of exactly that size.
  void give_scratch(Data& data, const Loaded& loaded) {
    const auto bytes = static_cast<std::size_t>(loaded.plan.workspace_bytes);
    if (bytes == 0) return;
    const auto words = static_cast<std::size_t>(loaded.plan.counters);
    data.workspace = std::move(*DeviceBuffer::allocate(driver(), bytes));
    if (words == 0) return;
    data.counters = std::move(*DeviceBuffer::allocate(driver(), words * sizeof(unsigned)));
    EXPECT_EQ(driver().MemsetD32Async(data.counters.address(), 0, words, stream_.get()),
              CUDA_SUCCESS);
    EXPECT_TRUE(stream_.synchronize());
  }
  // Counters that a launch did not leave as the next one needs them: all but the upper bit zero.
  std::uint64_t dirty_counters(const Data& data) {
    std::vector<unsigned> counters(data.counters.size() / sizeof(unsigned));
    EXPECT_TRUE(copy_to_host(driver(), counters.data(), data.counters.address(),
                             data.counters.size(), stream_.get()));
    return static_cast<std::uint64_t>(std::count_if(
        counters.begin(), counters.end(), [](unsigned c) { return (c & 0x7fffffffU) != 0; }));
  }
  Result<void> launch(Loaded& loaded, const Data& data, CUstream stream) {
    return launch(loaded, data, data.operands(), stream);
  }
  // On other operands, with the scratch of `data`.
  Result<void> launch(Loaded& loaded, const Data& data, const plan::Operands& operands,
                      CUstream stream) {
    GEMMSMITH_TRY(plan::BoundLaunch bound, plan::bind(driver(), loaded.plan, operands));
    GEMMSMITH_CHECK(plan::use_scratch(
        driver(), loaded.plan, bound,
        {data.workspace.pointer(), static_cast<unsigned*>(data.counters.pointer())}));
    return check(driver(), plan::launch(driver(), loaded.plan, bound, loaded.functions, stream),
                 "launching");
  }

  std::optional<CudaContext> context_;
  Target target_;
  std::optional<compile::Compiler> compiler_;
  std::optional<HarnessKernels> kernels_;
  Stream stream_;
};

}  // namespace gemmsmith
