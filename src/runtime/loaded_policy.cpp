#include "runtime/loaded_policy.h"

#include <utility>

namespace gemmsmith::runtime {

Result<std::unique_ptr<const LoadedPolicy>> LoadedPolicy::open(const char* path) {
  GEMMSMITH_TRY(policy::PolicyFile file, policy::read_policy(path));
  std::string device = policy::trained_on(file);
  if (device.empty())
    return fail(ErrorCode::kBadInput,
                "{}: a policy that does not say which device it learnt from; train it again", path);
  return std::unique_ptr<const LoadedPolicy>(
      new LoadedPolicy(std::move(file), path, std::move(device)));
}

bool LoadedPolicy::fits(const DeviceInfo& device) const {
  const std::string kind = device.kind();
  return device_ == kind || device_.rfind(kind + ",", 0) == 0;
}

std::string LoadedPolicy::misfit_text(const DeviceInfo& device) const {
  return fmt::format(
      "{}: learnt from {}, but the current device is {}; set a policy trained on a recording of it",
      name_, device_, device.kind());
}

}  // namespace gemmsmith::runtime
