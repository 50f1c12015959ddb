// worker_process.h -- starts, kills and buries the process that touches the GPU.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "measure/channel.h"

namespace gemmsmith {

class WorkerProcess {
 public:
  // Runs `executable` with `arguments` and then "--fd 3", one end of a socket. Its standard output
  // goes to our standard error. kEnvironment where it cannot be started.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& executable,
                                                      const std::vector<std::string>& arguments);
  ~WorkerProcess();  // kills it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }

  // Kills it, waits for its end and says how it ended: "exit code 3", "signal 11 (Segmentation
  // fault)". The same text on every call.
  const std::string& bury();

 private:
  WorkerProcess(pid_t pid, Channel channel) : pid_(pid), channel_(std::move(channel)) {}
  pid_t pid_;
  Channel channel_;
  std::string end_;
};

}  // namespace gemmsmith
