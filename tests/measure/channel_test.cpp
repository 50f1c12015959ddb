#include "measure/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace gemmsmith {
namespace {

using std::chrono::milliseconds;

struct Pair {
  Pair() {
    int sockets[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    near = std::make_unique<Channel>(sockets[0]);
    far = std::make_unique<Channel>(sockets[1]);
  }
  std::unique_ptr<Channel> near, far;
};

TEST(Channel, LinesAndBytesArriveInOrder) {
  Pair pair;
  ASSERT_TRUE(pair.far->send_line("one"));
  ASSERT_TRUE(pair.far->send_bytes(std::string("a\nb\0c", 5)));
  ASSERT_TRUE(pair.far->send_line(""));
  EXPECT_EQ(*pair.near->receive_line(milliseconds(100)), "one");
  EXPECT_EQ(*pair.near->receive_bytes(5, milliseconds(100)), std::string("a\nb\0c", 5));
  EXPECT_EQ(*pair.near->receive_line(milliseconds(100)), "");
}

TEST(Channel, ALineMayComeInPieces) {
  Pair pair;
  std::thread writer([&] {
    for (const char* piece : {"pie", "ces", "\nnext\n"}) {
      ASSERT_TRUE(pair.far->send_bytes(piece));
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  EXPECT_EQ(*pair.near->receive_line(milliseconds(1000)), "pieces");
  EXPECT_EQ(*pair.near->receive_line(milliseconds(1000)), "next");
  writer.join();
}

TEST(Channel, WaitsNoLongerThanTold) {
  Pair pair;
  ASSERT_TRUE(pair.far->send_bytes("never ended"));
  const auto line = pair.near->receive_line(milliseconds(20));
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::kTimeout);
}

TEST(Channel, AClosedEndIsAnErrorNotASignal) {
  Pair pair;
  ASSERT_TRUE(pair.far->send_bytes("half a li"));
  pair.far.reset();
  const auto line = pair.near->receive_line(milliseconds(100));
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::kDevice);
  EXPECT_FALSE(pair.near->send_line("hello?"));
}

TEST(Channel, LargeBlocksPass) {
  Pair pair;
  const std::string block(5 << 20, 'x');
  std::thread writer([&] { ASSERT_TRUE(pair.far->send_bytes(block)); });
  EXPECT_EQ(*pair.near->receive_bytes(block.size(), milliseconds(5000)), block);
  writer.join();
}

}  // namespace
}  // namespace gemmsmith
