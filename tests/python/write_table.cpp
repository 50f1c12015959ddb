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
  std::ofstream file(argv[1]);
  file << TableMaker()
              .kernel(planned, kWithMaps)
              .kernel(planned, kPlain, 2, 1)
              .kernel(bfloat, kWithMaps)
              .vendor(vendors, kVendor)
              .bytes();
  return file.good() ? 0 : 1;
}
