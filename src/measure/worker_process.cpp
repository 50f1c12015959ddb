#include "measure/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

extern char** environ;

namespace gemmsmith {
namespace {

constexpr int kChildSocket = 3;

std::string describe_end(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("status {}", status);
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(
    const std::string& executable, const std::vector<std::string>& arguments) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return fail(ErrorCode::kEnvironment, "cannot make a socket for the worker: {}",
                std::generic_category().message(errno));
  Channel ours(sockets[0]);
  Channel theirs(sockets[1]);

  std::vector<std::string> words = {executable};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--fd", std::to_string(kChildSocket)});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // Standard output carries results only, and they are the tuner's.
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, sockets[1], kChildSocket);
  pid_t pid = -1;
  const int failed =
      ::posix_spawn(&pid, executable.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return fail(ErrorCode::kEnvironment, "cannot start the worker {}: {}", executable,
                std::generic_category().message(failed));
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(pid, std::move(ours)));
}

WorkerProcess::~WorkerProcess() { bury(); }

const std::string& WorkerProcess::bury() {
  if (pid_ < 0) return end_;
  { Channel closed = std::move(channel_); }  // a healthy worker ends when its socket closes
  // One that is ending by itself gets the moment it needs: how it ended is worth knowing.
  int status = 0;
  pid_t ended = 0;
  constexpr int kPatienceSteps = 20;
  constexpr useconds_t kStepUs = 5000;
  for (int i = 0; i < kPatienceSteps && ended == 0; ++i) {
    ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0) ::usleep(kStepUs);
  }
  if (ended == 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  end_ = describe_end(status);
  pid_ = -1;
  return end_;
}

}  // namespace gemmsmith
