// cublas_values_test.cpp -- programs that know cuBLAS's numbers may keep them: each value that has
// a counterpart there is that.
#include <cublasLt.h>
#include <cublas_api.h>
#include <gemmsmith/gemmsmith.h>
#include <gtest/gtest.h>

#include <ostream>

namespace gemmsmith::runtime {
namespace {

struct Value {
  const char* name;
  int ours;
  int cublas;
};
void PrintTo(const Value& value, std::ostream* out) { *out << value.name; }

class SharedValue : public testing::TestWithParam<Value> {};

TEST_P(SharedValue, IsCublas) { EXPECT_EQ(GetParam().ours, GetParam().cublas); }

#define GEMMSMITH_PAIR(ours, cublas) \
  Value { #ours, GEMMSMITH_##ours, cublas }

INSTANTIATE_TEST_SUITE_P(
    Header, SharedValue,
    testing::Values(GEMMSMITH_PAIR(STATUS_SUCCESS, CUBLAS_STATUS_SUCCESS),
                    GEMMSMITH_PAIR(STATUS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED),
                    GEMMSMITH_PAIR(STATUS_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED),
                    GEMMSMITH_PAIR(STATUS_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE),
                    GEMMSMITH_PAIR(STATUS_ARCH_MISMATCH, CUBLAS_STATUS_ARCH_MISMATCH),
                    GEMMSMITH_PAIR(STATUS_MAPPING_ERROR, CUBLAS_STATUS_MAPPING_ERROR),
                    GEMMSMITH_PAIR(STATUS_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED),
                    GEMMSMITH_PAIR(STATUS_INTERNAL_ERROR, CUBLAS_STATUS_INTERNAL_ERROR),
                    GEMMSMITH_PAIR(STATUS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED),
                    GEMMSMITH_PAIR(STATUS_LICENSE_ERROR, CUBLAS_STATUS_LICENSE_ERROR),
                    GEMMSMITH_PAIR(OP_N, CUBLAS_OP_N), GEMMSMITH_PAIR(OP_T, CUBLAS_OP_T),
                    GEMMSMITH_PAIR(OP_C, CUBLAS_OP_C), GEMMSMITH_PAIR(R_16F, CUDA_R_16F),
                    GEMMSMITH_PAIR(R_16BF, CUDA_R_16BF),
                    GEMMSMITH_PAIR(COMPUTE_16F, CUBLAS_COMPUTE_16F),
                    GEMMSMITH_PAIR(COMPUTE_32F, CUBLAS_COMPUTE_32F),
                    GEMMSMITH_PAIR(POINTER_MODE_HOST, CUBLAS_POINTER_MODE_HOST),
                    GEMMSMITH_PAIR(POINTER_MODE_DEVICE, CUBLAS_POINTER_MODE_DEVICE),
                    GEMMSMITH_PAIR(EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU),
                    GEMMSMITH_PAIR(EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS),
                    GEMMSMITH_PAIR(EPILOGUE_GELU_TANH, CUBLASLT_EPILOGUE_GELU)),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace gemmsmith::runtime
