// small_recording.h -- a recording of a few invented kernels on one H200, for runs of the built
// program that need no GPU and take milliseconds.
#pragma once

#include <string>
#include <vector>

#include "device/measurement.h"

namespace gemmsmith::test {

struct SmallRecording {
  std::vector<std::string> shapes = {"64_4096_64", "128_256_512"};
  int configs = 6;  // of ours, for each shape
  int fastest = 4;  // which of them, from 0; the others are within 2 % of each other
  int bad = -1;     // which one failed, and how
  Status bad_status = Status::kWrong;
  std::string driver = "580.1";

  // The text of config `i`, from 0: all legal for the shapes above.
  static std::string config(int i);
  // Writes the recording and its sidecar into `folder`; what --device takes.
  std::string write(const std::string& folder, const std::string& name = "small.csv") const;
};

}  // namespace gemmsmith::test
