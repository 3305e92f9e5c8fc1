#include "distributed/peer_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "distributed/collective.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

constexpr char kLoopback[] = "127.0.0.1";

// The world of `size` ranks of this process, which all listen.
class PeerSocketsTest : public ::testing::Test {
 protected:
  void Listen(int size) {
    for (int rank = 0; rank < size; ++rank) {
      listeners_.push_back(std::make_unique<PeerListener>(kLoopback, PortRange()));
    }
  }

  static uint64_t Password(int from, int to) { return 1000 + 10 * from + to; }

  std::vector<PeerEndpoint> EndpointsFor(int rank) const {
    std::vector<PeerEndpoint> endpoints;
    for (int peer = 0; peer < static_cast<int>(listeners_.size()); ++peer) {
      endpoints.push_back(
          {kLoopback, listeners_[peer]->port(), Password(rank, peer), Password(peer, rank)});
    }
    return endpoints;
  }

  std::vector<Socket> Connect(int rank, milliseconds timeout = milliseconds(20000)) const {
    return ConnectPeers(*listeners_[rank], rank, EndpointsFor(rank), Deadline(timeout),
                        [](int peer) { return MakeString("rank ", peer); });
  }

  // A stranger's connection to the port of rank 0, which has sent `text`.
  Socket Stranger(const std::string& text) const {
    Socket made(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(listeners_[0]->port()));
    EXPECT_EQ(connect(made.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    send(made.fd(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return made;
  }

  // Ranks 0 and 1 connect while strangers have come before; returns how many were dropped.
  int64_t DroppedWhileConnecting() const {
    const int64_t before = StrangersDropped();
    std::thread rank0([&] { EXPECT_TRUE(Connect(0)[1].is_open()); });
    SleepMs(200);  // rank 0 has met the strangers
    EXPECT_TRUE(Connect(1)[0].is_open());
    rank0.join();
    return StrangersDropped() - before;
  }

  std::vector<std::unique_ptr<PeerListener>> listeners_;
};

TEST_F(PeerSocketsTest, ConnectEachPairOfRanks) {
  constexpr int kSize = 5;
  Listen(kSize);
  RunThreads(kSize, [&](int rank) {
    const std::vector<Socket> sockets = Connect(rank);
    for (int peer = 0; peer < kSize; ++peer) {
      ASSERT_EQ(sockets[peer].is_open(), peer != rank);
      const char own = static_cast<char>('a' + rank);
      if (peer != rank) {
        EXPECT_EQ(send(sockets[peer].fd(), &own, 1, 0), 1);
      }
    }
    for (int peer = 0; peer < kSize; ++peer) {
      if (peer == rank) continue;
      char got = 0;
      pollfd event{sockets[peer].fd(), POLLIN, 0};
      ASSERT_EQ(poll(&event, 1, 10000), 1);
      ASSERT_EQ(recv(sockets[peer].fd(), &got, 1, 0), 1);
      EXPECT_EQ(got, 'a' + peer);
    }
  });
}

TEST_F(PeerSocketsTest, StrangersAreDroppedAndCountedWhateverTheySend) {
  Listen(2);
  std::string impostor = "doppio04";
  impostor.append(8, '\1');                // a wrong password
  impostor.append("\1\0\0\0\0\0\0\0", 8);  // from rank 1 to rank 0
  std::vector<Socket> strangers;
  for (const std::string& text :
       {std::string(), std::string(1 << 20, 'x'), impostor, std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string(24, '\0'), std::string("doppio04")}) {
    strangers.push_back(Stranger(text));
  }
  EXPECT_EQ(DroppedWhileConnecting(), 6);
}

TEST_F(PeerSocketsTest, ManySilentStrangersKeepNoPeerOut) {
  Listen(2);
  std::vector<Socket> strangers;
  for (int i = 0; i < 300; ++i) strangers.push_back(Stranger(""));
  EXPECT_EQ(DroppedWhileConnecting(), 300);
}

// One byte a moment would never end without a limit for the whole greeting.
TEST_F(PeerSocketsTest, AStrangerThatTricklesIsDropped) {
  Listen(2);
  const int64_t before = StrangersDropped();
  std::atomic<bool> over{false};
  std::thread trickle([&] {
    const Socket stranger = Stranger("d");
    while (!over && send(stranger.fd(), "d", 1, MSG_NOSIGNAL) == 1) SleepMs(400);
  });
  std::thread rank0([&] { Connect(0); });
  const Deadline limit(milliseconds(30000));
  while (StrangersDropped() == before && !limit.expired()) SleepMs(20);
  EXPECT_EQ(StrangersDropped() - before, 1);
  over = true;
  trickle.join();
  Connect(1);
  rank0.join();
}

TEST_F(PeerSocketsTest, AMissingPeerIsNamedAtTheDeadline) {
  Listen(3);
  try {
    Connect(1, milliseconds(300));
    FAIL() << "connected with nobody";
  } catch (const PeerTimeout& error) {
    EXPECT_EQ(error.rank(), 0);
    EXPECT_HAS(error.what(), "connecting to rank 0: no answer in time");
  }
}

TEST(PeerListenerTest, UsesThePortsOfTheRangeOnly) {
  const int port = FreePort();
  const PeerListener first(kLoopback, {port, port});
  EXPECT_EQ(first.port(), port);
  const std::string error = ErrorOf([&] { PeerListener(kLoopback, {port, port}); });
  EXPECT_HAS(error, MakeString("all ports of --port_range ", port, "-", port, " are in use"));
  EXPECT_HAS(error, kLoopback);
  EXPECT_HAS(ErrorOf([] { PeerListener("somewhere", {}); }), "\"somewhere\" is not an IP address");
}

TEST(PortRangeTest, Parses) {
  EXPECT_EQ(ParsePortRange("--p", "").last, 0);
  EXPECT_EQ(ParsePortRange("--p", "4000").last, 4000);
  EXPECT_EQ(ParsePortRange("--p", "4000-4010").first, 4000);
  EXPECT_EQ(ParsePortRange("--p", "4000-4010").last, 4010);
  for (const char* text :
       {"0-5", "5-4", "1-65536", "a-b", "-5", "5-", "1-2-3", "1 - 2", "99999999"}) {
    EXPECT_HAS(ErrorOf([&] { ParsePortRange("--p", text); }), MakeString("--p is \"", text, "\""));
    EXPECT_THROW(ParsePortRange("--p", text), UsageError);
  }
}

}  // namespace
}  // namespace caffe2::testing
