// main.cpp -- the device tests' program is its own worker, as `gemmsmith` is.
#include <gtest/gtest.h>

#include <string_view>

#include "measure/worker.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker")
    return gemmsmith::worker_main(argc - 1, argv + 1);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
