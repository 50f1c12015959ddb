// channel.h -- one end of the socket between the tuner and its worker: lines of JSON, and blocks of
// bytes whose length a line has announced. Either end may vanish at any moment.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  // kDevice where the other end is gone.
  Result<void> send_line(std::string_view line);
  Result<void> send_bytes(std::string_view bytes);

  // Waits at most `timeout` (for ever when absent). kTimeout, or kDevice: the other end is gone (a
  // last line without its end is dropped) or talks without ever ending a line.
  Result<std::string> receive_line(std::optional<std::chrono::milliseconds> timeout);
  Result<std::string> receive_bytes(std::size_t count,
                                    std::optional<std::chrono::milliseconds> timeout);

 private:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  // Appends what has arrived to buffer_.
  Result<void> fill(Deadline deadline);

  int socket_ = -1;
  std::string buffer_;
};

}  // namespace gemmsmith
