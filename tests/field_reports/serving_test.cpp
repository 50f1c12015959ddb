// Field reports on serving through the C API, on the fake GPU: what the program tuned serves here,
// and no call compiles or stalls.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "base/files.h"
#include "cli/run_program.h"
#include "field_reports/small_recording.h"
#include "runtime/fixture.h"

namespace gemmsmith::runtime {
namespace {

using test::fresh_folder;
using test::run_program;
using test::SmallRecording;

class ServingFieldReports : public RuntimeTest {};

// A table tuned and written by the program alone.
std::string plan_table(const SmallRecording& recording) {
  const std::string folder = fresh_folder();
  const std::string store = folder + "/s.db";
  std::vector<std::string> tune = {"tune",    "--device", recording.write(folder),
                                   "--store", store,      "-q"};
  for (const std::string& shape : recording.shapes) tune.insert(tune.end(), {"--mnk", shape});
  EXPECT_EQ(run_program(tune).exit_code, 0);
  const auto written = run_program({"store", "plan-table", folder + "/t.plans", "--store", store},
                                   {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  return folder + "/t.plans";
}

// M5: made by the command line, served in C.
TEST_F(ServingFieldReports, M5_WhatTheProgramTunedServesInC) {
  const SmallRecording recording;
  const std::string table = plan_table(recording);
  ASSERT_EQ(gemmsmithLoadPlanTable(handle_, table.c_str()), GEMMSMITH_STATUS_SUCCESS)
      << gemmsmithGetLastErrorString();
  ProductOptions options;
  options.m = 4096;  // column-major: the recorded 64_4096_64 with A and B exchanged
  options.n = 64;
  options.k = 64;
  Product product(options);
  const int launches = gpu().launches;
  EXPECT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(gpu().launches, launches + 1) << "the tuned kernel did not serve";
  EXPECT_STREQ(plan_info(handle_, product.problem).config,
               SmallRecording::config(recording.fastest).c_str());
  // The bytes are the same wherever they are written, so fleets can compare them.
  EXPECT_EQ(*read_file(plan_table(recording)), *read_file(table));
}

rusage thread_usage() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

double cpu_ms(const rusage& usage) {
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// N9: no call compiles: NVRTC is not even part of the library, and after a warm-up no call of any
// M loads a module or takes long.
TEST_F(ServingFieldReports, N9_NoCallCompilesOrStalls) {
  const std::string library = *read_file(GEMMSMITH_SHARED_LIBRARY);
  EXPECT_EQ(library.find("nvrtcCompileProgram"), std::string::npos);
  EXPECT_EQ(library.find("libnvrtc"), std::string::npos);

  const std::string table = plan_table({});
  ASSERT_EQ(gemmsmithLoadPlanTable(handle_, table.c_str()), GEMMSMITH_STATUS_SUCCESS);
  ProductOptions options;
  options.n = 8;
  options.k = 8;
  options.m = 4096;
  Product product(options);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  const int modules = gpu().modules_loaded;
  // What the thread did itself, and whether it gave up its core to wait: a busy machine interrupts
  // calls, and says nothing about them.
  double longest_ms = 0;
  int slow = 0;
  int waiting = 0;
  for (product.problem.m = 1; product.problem.m <= 4096; ++product.problem.m) {
    const rusage before = thread_usage();
    ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
    const rusage after = thread_usage();
    const double spent_ms = cpu_ms(after) - cpu_ms(before);
    longest_ms = std::max(longest_ms, spent_ms);
    slow += spent_ms > 20 ? 1 : 0;
    waiting += after.ru_nvcsw > before.ru_nvcsw ? 1 : 0;
  }
  EXPECT_EQ(gpu().modules_loaded, modules);
  EXPECT_LE(slow, 4) << "longest: " << longest_ms << " ms";
  EXPECT_LE(waiting, 4);
}

}  // namespace
}  // namespace gemmsmith::runtime
