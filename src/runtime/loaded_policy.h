// loaded_policy.h -- a trained policy that was set on a handle.
#pragma once

#include <memory>
#include <string>

#include "device/device_info.h"
#include "policy/policy_file.h"

namespace gemmsmith::runtime {

class LoadedPolicy {
 public:
  // Errors (kBadInput) name the file: missing, cut short, damaged, of another version or feature
  // set, or one that does not say which device it learnt from.
  static Result<std::unique_ptr<const LoadedPolicy>> open(const char* path);

  const policy::Network& network() const { return file_.network; }

  // Whether it learnt from this kind of device: on another one other kernels win.
  bool fits(const DeviceInfo& device) const;
  // A sentence on why not.
  std::string misfit_text(const DeviceInfo& device) const;

 private:
  LoadedPolicy(policy::PolicyFile file, std::string name, std::string device)
      : file_(std::move(file)), name_(std::move(name)), device_(std::move(device)) {}
  policy::PolicyFile file_;
  std::string name_;
  std::string device_;  // a fingerprint
};

}  // namespace gemmsmith::runtime
