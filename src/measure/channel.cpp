#include "measure/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace gemmsmith {
namespace {

// More than any message of ours by far.
constexpr std::size_t kMaxLine = 64U << 20;

std::string reason() { return std::generic_category().message(errno); }

std::optional<std::chrono::steady_clock::time_point> deadline_of(
    std::optional<std::chrono::milliseconds> timeout) {
  if (!timeout) return std::nullopt;
  return std::chrono::steady_clock::now() + *timeout;
}

}  // namespace

Channel::Channel(Channel&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Channel::~Channel() {
  if (socket_ >= 0) ::close(socket_);
}

Result<void> Channel::send_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return fail(ErrorCode::kDevice, "the worker's socket is closed: {}", reason());
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<void> Channel::send_line(std::string_view line) {
  std::string whole(line);
  whole += '\n';
  return send_bytes(whole);
}

Result<void> Channel::fill(Deadline deadline) {
  int wait_ms = -1;
  if (deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        *deadline - std::chrono::steady_clock::now());
    wait_ms = static_cast<int>(std::max<std::chrono::milliseconds::rep>(0, left.count()));
  }
  pollfd waited = {socket_, POLLIN, 0};
  const int ready = ::poll(&waited, 1, wait_ms);
  if (ready < 0 && errno == EINTR) return {};
  if (ready < 0) return fail(ErrorCode::kDevice, "waiting for the worker: {}", reason());
  if (ready == 0) return fail(ErrorCode::kTimeout, "no answer from the worker in time");
  char block[64 << 10];
  const ssize_t got = ::recv(socket_, block, sizeof(block), 0);
  if (got < 0 && errno == EINTR) return {};
  if (got <= 0) return fail(ErrorCode::kDevice, "the worker's socket is closed");
  buffer_.append(block, static_cast<std::size_t>(got));
  return {};
}

Result<std::string> Channel::receive_line(std::optional<std::chrono::milliseconds> timeout) {
  const Deadline deadline = deadline_of(timeout);
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > kMaxLine)
      return fail(ErrorCode::kDevice, "the worker sent {} bytes without the end of a line",
                  buffer_.size());
    searched = buffer_.size();
    GEMMSMITH_CHECK(fill(deadline));
  }
}

Result<std::string> Channel::receive_bytes(std::size_t count,
                                           std::optional<std::chrono::milliseconds> timeout) {
  const Deadline deadline = deadline_of(timeout);
  while (buffer_.size() < count) GEMMSMITH_CHECK(fill(deadline));
  std::string bytes = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return bytes;
}

}  // namespace gemmsmith
