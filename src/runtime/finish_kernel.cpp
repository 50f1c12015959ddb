#include "runtime/finish_kernel.h"

#include <algorithm>
#include <bit>

namespace gemmsmith::runtime {
namespace {

// PTX of ISA 7.0, as scale_kernel.cpp's and for its reasons.
constexpr char kPtx[] = R"ptx(
// D[i][j] = activation(D[i][j] + bias[j]) for each matrix of a batch, row-major, in place and in
// f32. The functions are those of kernels/parts/activation.cuh, which tells where they come from.
//
//   lines: rows of all matrices.   bias = 0: none.
//   flags bit 0: elements are bf16, else f16.   bit 1: they are f32.
//   activation: 0 none, 1 ReLU, 2 tanh-GELU, 3 exact GELU, 4 SiLU.
//   Threads along x take columns, along y lines.
//
.version 7.0
.target sm_80
.address_size 64

.visible .entry gemmsmith_finish(
    .param .u64 param_d,
    .param .u64 param_bias,
    .param .u64 param_lines,
    .param .u64 param_rows,
    .param .u64 param_columns,
    .param .u64 param_ldd,
    .param .u64 param_stride,
    .param .u32 param_flags,
    .param .u32 param_activation)
.maxntid 256, 1, 1
{
    .reg .pred %done, %is_bf16, %is_f32, %has_bias, %is;
    .reg .b16 %h;
    .reg .b32 %bits, %flags, %activation, %block, %blocks, %size, %thread, %shift;
    .reg .f32 %x, %y, %t, %e, %linear, %cubic;
    .reg .b64 %d, %bias, %lines, %rows, %columns, %ldd, %stride, %line, %line_step, %first,
        %column, %column_step, %matrix, %row, %base, %offset, %at;

    ld.param.u64 %d, [param_d];
    ld.param.u64 %bias, [param_bias];
    ld.param.u64 %lines, [param_lines];
    ld.param.u64 %rows, [param_rows];
    ld.param.u64 %columns, [param_columns];
    ld.param.u64 %ldd, [param_ldd];
    ld.param.u64 %stride, [param_stride];
    ld.param.u32 %flags, [param_flags];
    ld.param.u32 %activation, [param_activation];

    and.b32 %bits, %flags, 1;
    setp.ne.u32 %is_bf16, %bits, 0;
    and.b32 %bits, %flags, 2;
    setp.ne.u32 %is_f32, %bits, 0;
    selp.u32 %shift, 2, 1, %is_f32;
    setp.ne.u64 %has_bias, %bias, 0;

    mov.u32 %block, %ctaid.x;
    mov.u32 %blocks, %nctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %first, %block, %size;
    cvt.u64.u32 %offset, %thread;
    add.u64 %first, %first, %offset;
    mul.wide.u32 %column_step, %blocks, %size;

    mov.u32 %block, %ctaid.y;
    mov.u32 %blocks, %nctaid.y;
    mov.u32 %size, %ntid.y;
    mov.u32 %thread, %tid.y;
    mul.wide.u32 %line, %block, %size;
    cvt.u64.u32 %offset, %thread;
    add.u64 %line, %line, %offset;
    mul.wide.u32 %line_step, %blocks, %size;

next_line:
    setp.ge.u64 %done, %line, %lines;
    @%done bra finished;
    div.u64 %matrix, %line, %rows;
    mul.lo.u64 %offset, %matrix, %rows;
    sub.u64 %row, %line, %offset;
    mul.lo.u64 %offset, %matrix, %stride;
    mad.lo.u64 %offset, %row, %ldd, %offset;
    shl.b64 %offset, %offset, %shift;
    add.u64 %base, %d, %offset;
    mov.u64 %column, %first;

next_column:
    setp.ge.u64 %done, %column, %columns;
    @%done bra line_done;
    shl.b64 %offset, %column, %shift;
    add.u64 %at, %base, %offset;
    @%is_f32 ld.global.f32 %x, [%at];
    @%is_f32 bra loaded;
    ld.global.b16 %h, [%at];
    @%is_bf16 bra load_bf16;
    cvt.f32.f16 %x, %h;
    bra loaded;
load_bf16:
    cvt.u32.u16 %bits, %h;
    shl.b32 %bits, %bits, 16;
    mov.b32 %x, %bits;
loaded:
    @!%has_bias bra biased;
    add.u64 %offset, %bias, %offset;
    @%is_f32 ld.global.f32 %y, [%offset];
    @%is_f32 bra add_bias;
    ld.global.b16 %h, [%offset];
    @%is_bf16 bra bias_bf16;
    cvt.f32.f16 %y, %h;
    bra add_bias;
bias_bf16:
    cvt.u32.u16 %bits, %h;
    shl.b32 %bits, %bits, 16;
    mov.b32 %y, %bits;
add_bias:
    add.rn.f32 %x, %x, %y;
biased:
    setp.eq.u32 %is, %activation, 0;
    @%is bra store;
    setp.eq.u32 %is, %activation, 1;
    @%is bra relu;
    setp.eq.u32 %is, %activation, 3;
    @%is bra gelu_erf;

    setp.eq.u32 %is, %activation, 4;
    selp.f32 %linear, 0fBFB8AA3B, 0fC0135761, %is;
    selp.f32 %cubic, 0f00000000, 0fBDD2D3E8, %is;
    mul.rn.f32 %t, %x, %x;
    min.f32 %t, %t, 0f7149F2CA;
    fma.rn.f32 %t, %cubic, %t, %linear;
    mul.rn.f32 %t, %t, %x;
    ex2.approx.ftz.f32 %t, %t;
    add.rn.f32 %t, %t, 0f3F800000;
    rcp.approx.ftz.f32 %t, %t;
    mul.rn.f32 %x, %x, %t;
    bra store;

relu:
    max.NaN.f32 %x, %x, 0f00000000;
    bra store;

gelu_erf:
    abs.f32 %t, %x;
    fma.rn.f32 %t, %t, 0f3EB504F3, 0f3F800000;
    rcp.approx.ftz.f32 %t, %t;
    mov.f32 %e, 0f3E7C6F08;
    fma.rn.f32 %e, %e, %t, 0fBF97D29D;
    fma.rn.f32 %e, %e, %t, 0f40097039;
    fma.rn.f32 %e, %e, %t, 0fBFD1A1E5;
    fma.rn.f32 %e, %e, %t, 0f3ECDFD18;
    fma.rn.f32 %e, %e, %t, 0fBE899A80;
    fma.rn.f32 %e, %e, %t, 0f3E0EFB2E;
    fma.rn.f32 %e, %e, %t, 0f3F0A29D2;
    fma.rn.f32 %e, %e, %t, 0f3FB8AB5A;
    fma.rn.f32 %e, %e, %t, 0fC034D90F;
    mul.rn.f32 %y, %x, %x;
    fma.rn.f32 %e, %y, 0fBF38AA3B, %e;
    ex2.approx.ftz.f32 %e, %e;
    mul.rn.f32 %e, %e, %t;
    setp.ge.f32 %is, %x, 0f00000000;
    @%is neg.f32 %e, %e;
    @%is add.rn.f32 %e, %e, 0f3F800000;
    mul.rn.f32 %x, %x, %e;

store:
    @%is_f32 st.global.f32 [%at], %x;
    @%is_f32 bra stored;
    @%is_bf16 bra store_bf16;
    cvt.rn.f16.f32 %h, %x;
    st.global.b16 [%at], %h;
    bra stored;
store_bf16:
    cvt.rn.bf16.f32 %h, %x;
    st.global.b16 [%at], %h;
stored:
    add.u64 %column, %column, %column_step;
    bra next_column;
line_done:
    add.u64 %line, %line, %line_step;
    bra next_line;
finished:
    ret;
}
)ptx";

constexpr std::int64_t kThreads = 256;  // as in .maxntid
constexpr unsigned kFlagBf16 = 1;
constexpr unsigned kFlagF32 = 2;
// Enough to fill any GPU; the kernel strides over the rest.
constexpr std::int64_t kMostBlocks = 8192;

}  // namespace

const char* finish_kernel_ptx() { return kPtx; }

Result<FinishKernel> FinishKernel::load(const Driver& driver) {
  FinishKernel kernel;
  // The terminating zero goes along: the driver takes PTX as a C string.
  GEMMSMITH_TRY(kernel.module_,
                Module::load(driver, std::string_view(kPtx, sizeof kPtx), "gemmsmith_finish"));
  GEMMSMITH_TRY(kernel.function_, kernel.module_.function("gemmsmith_finish"));
  return kernel;
}

Result<void> FinishKernel::run(const Driver& driver, const Problem& problem,
                               const vendor::Extras& extras, void* d, CUstream stream) const {
  const void* bias = problem.has_bias ? extras.bias : nullptr;
  std::int64_t rows = problem.m;
  std::int64_t lines = problem.m * problem.batch;
  std::int64_t columns = problem.n;
  std::int64_t ldd = problem.ldd;
  std::int64_t stride = problem.is_batched() ? problem.stride_d : 0;
  unsigned flags =
      (problem.type == DataType::kBf16 ? kFlagBf16 : 0) | (problem.f32_output ? kFlagF32 : 0);
  int activation = static_cast<int>(problem.activation);
  void* parameters[] = {&d, &bias, &lines, &rows, &columns, &ldd, &stride, &flags, &activation};
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const auto threads_x = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min(columns, kThreads))));
  const std::int64_t threads_y = kThreads / threads_x;
  const std::int64_t blocks_x = std::min(ceil_div(columns, threads_x), kMostBlocks);
  const std::int64_t blocks_y =
      std::min(ceil_div(lines, threads_y), std::max<std::int64_t>(1, kMostBlocks / blocks_x));
  const auto count = [](std::int64_t value) { return static_cast<unsigned>(value); };
  return check(driver,
               driver.LaunchKernel(function_, count(blocks_x), count(blocks_y), 1, count(threads_x),
                                   count(threads_y), 1, 0, stream, parameters, nullptr),
               "launching D = activation(D + bias)");
}

}  // namespace gemmsmith::runtime
