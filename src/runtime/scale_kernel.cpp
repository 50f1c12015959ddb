#include "runtime/scale_kernel.h"

#include <algorithm>
#include <cstring>

namespace gemmsmith::runtime {
namespace {

// PTX, not CUDA C++, because the library that people link carries no compiler; ISA 7.0, so that
// every driver that can run the other kernels can translate it.
constexpr char kPtx[] = R"ptx(
// D[i][j] = beta * C[i][j], row-major: what a product with k = 0 or alpha = 0 is.
//
//   flags bit 0: elements are bf16, else f16.   bit 1: beta_device is an IEEE half, else a float.
//         bit 2: elements are f32.
//   beta_device = 0: beta is the value to use.  beta = 0 never reads C.
//
.version 7.0
.target sm_80
.address_size 64

.visible .entry gemmsmith_scale(
    .param .u64 param_d,
    .param .u64 param_c,
    .param .u64 param_beta_device,
    .param .u64 param_rows,
    .param .u64 param_columns,
    .param .u64 param_ldc,
    .param .u64 param_ldd,
    .param .f32 param_beta,
    .param .u32 param_flags)
.maxntid 256, 1, 1
{
    .reg .pred %done, %is_bf16, %is_f32, %is_half, %is_host, %is_zero;
    .reg .b16 %h;
    .reg .b32 %bits, %flags, %block, %blocks, %thread, %shift;
    .reg .f32 %beta, %value;
    .reg .b64 %d, %c, %beta_at, %rows, %columns, %ldc, %ldd, %total, %index, %step, %row, %column,
        %offset, %at;

    ld.param.u64 %d, [param_d];
    ld.param.u64 %c, [param_c];
    ld.param.u64 %beta_at, [param_beta_device];
    ld.param.u64 %rows, [param_rows];
    ld.param.u64 %columns, [param_columns];
    ld.param.u64 %ldc, [param_ldc];
    ld.param.u64 %ldd, [param_ldd];
    ld.param.f32 %beta, [param_beta];
    ld.param.u32 %flags, [param_flags];

    and.b32 %bits, %flags, 1;
    setp.ne.u32 %is_bf16, %bits, 0;
    and.b32 %bits, %flags, 2;
    setp.ne.u32 %is_half, %bits, 0;
    and.b32 %bits, %flags, 4;
    setp.ne.u32 %is_f32, %bits, 0;
    selp.u32 %shift, 2, 1, %is_f32;

    setp.eq.u64 %is_host, %beta_at, 0;
    @%is_host bra beta_known;
    @%is_half bra beta_half;
    ld.global.f32 %beta, [%beta_at];
    bra beta_known;
beta_half:
    ld.global.b16 %h, [%beta_at];
    cvt.f32.f16 %beta, %h;
beta_known:
    setp.eq.f32 %is_zero, %beta, 0f00000000;

    mov.u32 %block, %ctaid.x;
    mov.u32 %blocks, %nctaid.x;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %index, %block, 256;
    cvt.u64.u32 %step, %thread;
    add.u64 %index, %index, %step;
    mul.wide.u32 %step, %blocks, 256;
    mul.lo.u64 %total, %rows, %columns;

next:
    setp.ge.u64 %done, %index, %total;
    @%done bra finished;
    div.u64 %row, %index, %columns;
    mul.lo.u64 %offset, %row, %columns;
    sub.u64 %column, %index, %offset;

    mov.b16 %h, 0;
    mov.f32 %value, 0f00000000;
    @%is_zero bra store;
    mad.lo.u64 %offset, %row, %ldc, %column;
    shl.b64 %offset, %offset, %shift;
    add.u64 %at, %c, %offset;
    @%is_f32 bra scale_f32;
    ld.global.b16 %h, [%at];
    @%is_bf16 bra scale_bf16;
    cvt.f32.f16 %value, %h;
    mul.rn.f32 %value, %value, %beta;
    cvt.rn.f16.f32 %h, %value;
    bra store;
scale_bf16:
    cvt.u32.u16 %bits, %h;
    shl.b32 %bits, %bits, 16;
    mov.b32 %value, %bits;
    mul.rn.f32 %value, %value, %beta;
    cvt.rn.bf16.f32 %h, %value;
    bra store;
scale_f32:
    ld.global.f32 %value, [%at];
    mul.rn.f32 %value, %value, %beta;
store:
    mad.lo.u64 %offset, %row, %ldd, %column;
    shl.b64 %offset, %offset, %shift;
    add.u64 %at, %d, %offset;
    @%is_f32 st.global.f32 [%at], %value;
    @!%is_f32 st.global.b16 [%at], %h;
    add.u64 %index, %index, %step;
    bra next;
finished:
    ret;
}
)ptx";

constexpr unsigned kThreads = 256;  // as in .maxntid
constexpr unsigned kFlagBf16 = 1;
constexpr unsigned kFlagHalfBeta = 2;
constexpr unsigned kFlagF32 = 4;
// Enough to fill any GPU; the kernel strides over the rest.
constexpr std::int64_t kMostBlocks = 4096;

}  // namespace

const char* scale_kernel_ptx() { return kPtx; }

Result<ScaleKernel> ScaleKernel::load(const Driver& driver) {
  ScaleKernel kernel;
  // The terminating zero goes along: the driver takes PTX as a C string.
  GEMMSMITH_TRY(kernel.module_,
                Module::load(driver, std::string_view(kPtx, sizeof kPtx), "gemmsmith_scale"));
  GEMMSMITH_TRY(kernel.function_, kernel.module_.function("gemmsmith_scale"));
  return kernel;
}

Result<void> ScaleKernel::run(const Driver& driver, const Problem& problem,
                              const vendor::Operands& operands, const vendor::Scalars& scalars,
                              CUstream stream) const {
  const bool is_host = scalars.mode == vendor::ScalarMode::kHost;
  const bool is_in_place = operands.c == operands.d;  // then ldc = ldd
  if (is_host && scalars.beta == 1 && is_in_place) return {};

  const void* d = operands.d;
  const void* c = operands.c;
  const void* beta_device = is_host ? nullptr : scalars.device_beta;
  std::int64_t rows = problem.m;
  std::int64_t columns = problem.n;
  std::int64_t ldc = problem.ldc;
  std::int64_t ldd = problem.ldd;
  float beta = scalars.beta;
  unsigned flags = (problem.type == DataType::kBf16 ? kFlagBf16 : 0) |
                   (problem.accumulator == DataType::kF16 ? kFlagHalfBeta : 0) |
                   (problem.f32_output ? kFlagF32 : 0);
  void* parameters[] = {&d, &c, &beta_device, &rows, &columns, &ldc, &ldd, &beta, &flags};
  // In doubles, since a whole batch may have more rows than fit a product of 64 bits.
  const double wanted = static_cast<double>(rows) * static_cast<double>(columns) / kThreads + 1;
  const auto blocks = static_cast<std::int64_t>(std::min(wanted, static_cast<double>(kMostBlocks)));
  const auto grid = static_cast<unsigned>(blocks);
  return check(
      driver,
      driver.LaunchKernel(function_, grid, 1, 1, kThreads, 1, 1, 0, stream, parameters, nullptr),
      "launching D = beta * C");
}

}  // namespace gemmsmith::runtime
