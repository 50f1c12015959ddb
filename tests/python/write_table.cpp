// write_table.cpp -- the plan table that test_torch.py runs with: write_table FILE. Kernels are
// those that the fake driver can run.
#include <fstream>

#include "runtime/table_maker.h"

using gemmsmith::runtime::kPlain;
using gemmsmith::runtime::kVendor;
using gemmsmith::runtime::kWithMaps;
using gemmsmith::runtime::Product;
using gemmsmith::runtime::ProductOptions;
using gemmsmith::runtime::TableMaker;
using gemmsmith::runtime::WithEpilogues;

namespace {

Product batch_of(Product product) {
  product.problem.batch = 3;
  product.problem.stride_a = product.problem.stride_b = 64 * 64;
  product.problem.stride_c = product.problem.stride_d = 64 * 64;
  return product;
}

Product f32_of(Product product) {
  product.problem.output = GEMMSMITH_OUTPUT_32F;
  return product;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ProductOptions options;
  options.m = options.n = options.k = 64;
  const Product planned(options);
  options.type = GEMMSMITH_R_16BF;
  const Product bfloat(options);
  options.type = GEMMSMITH_R_16F;
  options.m = options.n = options.k = 96;
  const Product vendors(options);
  options.m = options.n = 128;
  options.k = 64;
  const Product fused(options);
  std::ofstream file(argv[1]);
  file << TableMaker()
              .kernel(planned, kWithMaps)
              .kernel(planned, kPlain, 2, 1)
              .kernel(bfloat, kWithMaps)
              .vendor(vendors, kVendor)
              .kernel(batch_of(planned), kWithMaps)
              .kernel(batch_of(planned), kPlain, 2, 1)
              .kernel(f32_of(planned), kWithMaps)
              .kernel(f32_of(bfloat), kWithMaps)
              .kernel(f32_of(batch_of(planned)), kPlain)
              .kernel(fused, kWithMaps, 1, 0, WithEpilogues::kYes)
              .bytes();
  return file.good() ? 0 : 1;
}
