// gemmsmith.hpp -- a thin C++17 face of gemmsmith.h: a handle that destroys itself and failures as
// exceptions. It adds no rule and no state; gemmsmith.h is the manual.
#ifndef GEMMSMITH_GEMMSMITH_HPP_
#define GEMMSMITH_GEMMSMITH_HPP_

#include <gemmsmith/gemmsmith.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace gemmsmith {

// A failed call: its status, and the library's text as what().
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(gemmsmithStatus_t status)
      : std::runtime_error(std::string(gemmsmithGetStatusName(status)) + ": " +
                           gemmsmithGetLastErrorString()),
        status_(status) {}
  gemmsmithStatus_t status() const noexcept { return status_; }

 private:
  gemmsmithStatus_t status_;
};

inline void check(gemmsmithStatus_t status) {
  if (status != GEMMSMITH_STATUS_SUCCESS) throw StatusError(status);
}

class Handle {
 public:
  Handle() { check(gemmsmithCreate(&handle_)); }
  explicit Handle(const std::string& plan_table_path) : Handle() {
    load_plan_table(plan_table_path);
  }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { gemmsmithDestroy(handle_); }

  gemmsmithHandle_t get() const noexcept { return handle_; }

  void load_plan_table(const std::string& path) {
    check(gemmsmithLoadPlanTable(handle_, path.c_str()));
  }
  void load_plan_table(const void* data, std::size_t bytes) {
    check(gemmsmithLoadPlanTableFromMemory(handle_, data, bytes));
  }
  void set_policy(const std::string& path) { check(gemmsmithSetPolicy(handle_, path.c_str())); }
  void unset_policy() { check(gemmsmithSetPolicy(handle_, nullptr)); }

  void matmul(const gemmsmithProblem_t& problem, const void* alpha, const void* a, const void* b,
              const void* beta, const void* c, void* d, void* workspace, std::size_t bytes,
              gemmsmithStream_t stream) const {
    check(gemmsmithMatmul(handle_, &problem, alpha, a, b, beta, c, d, workspace, bytes, stream));
  }

  std::size_t workspace_size(const gemmsmithProblem_t& problem) const {
    std::size_t bytes = 0;
    check(gemmsmithGetWorkspaceSize(handle_, &problem, &bytes));
    return bytes;
  }

  gemmsmithPlanInfo_t plan_info(const gemmsmithProblem_t& problem) const {
    gemmsmithPlanInfo_t info{};
    info.size = sizeof info;
    check(gemmsmithGetPlanInfo(handle_, &problem, &info));
    return info;
  }

 private:
  gemmsmithHandle_t handle_ = nullptr;
};

}  // namespace gemmsmith

#endif  // GEMMSMITH_GEMMSMITH_HPP_
