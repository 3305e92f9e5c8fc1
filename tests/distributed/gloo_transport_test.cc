#include "distributed/gloo_transport.h"

#include <gloo/common/error.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

constexpr std::chrono::milliseconds kLong(20000), kShort(100);

// Non-blocking sockets between all of `size` ranks: [rank][peer].
std::vector<std::vector<Socket>> Sockets(int size) {
  std::vector<std::vector<Socket>> sockets(size);
  for (auto& of_rank : sockets) of_rank.resize(size);
  for (int a = 0; a < size; ++a) {
    for (int b = 0; b < a; ++b) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
      sockets[a][b] = Socket(ends[0]);
      sockets[b][a] = Socket(ends[1]);
    }
  }
  return sockets;
}

// Ranks 0 and 1; the test plays both, or speaks for rank 1 through the socket.
class GlooTransportTest : public ::testing::Test {
 protected:
  GlooTransportTest() : sockets_(Sockets(2)), here_(0, std::move(sockets_[0]), Note()) {
    here_.setTimeout(kLong);
  }
  std::function<void(int)> Note() {
    return [this](int peer) { closed_ = peer; };
  }
  void MakePeer() {
    peer_ = std::make_unique<GlooTransport>(1, std::move(sockets_[1]), [](int) {});
    peer_->setTimeout(kLong);
  }
  Socket& peer_socket() { return sockets_[1][0]; }
  // What rank 1 sends: a header and data.
  void SendRaw(uint64_t slot, uint64_t bytes, const std::string& data) {
    std::string text(reinterpret_cast<const char*>(&slot), sizeof slot);
    text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    text += data;
    ASSERT_EQ(send(peer_socket().fd(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
  }
  // Receives `bytes` bytes in slot 7; the text of the exception, or "received".
  std::string ReceiveError(size_t bytes, std::chrono::milliseconds limit = kLong) {
    std::vector<char> data(bytes);
    const auto buffer = here_.createUnboundBuffer(data.data(), bytes);
    buffer->recv(1, 7);
    try {
      buffer->waitRecv(limit);
      return "received";
    } catch (const gloo::IoException& e) {
      return e.what();
    }
  }

  std::atomic<int> closed_{-1};
  std::vector<std::vector<Socket>> sockets_;
  GlooTransport here_;
  std::unique_ptr<GlooTransport> peer_;
};

TEST_F(GlooTransportTest, CarriesMessagesOfAllSizesBothWays) {
  MakePeer();
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{5} << 20}) {
    std::string out(bytes, 'x'), back(bytes, ' ');
    for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<char>(i * 7 + i / 251);
    std::thread other([&] {
      std::string data(bytes, ' ');
      const auto buffer = peer_->createUnboundBuffer(data.data(), bytes);
      buffer->recv(0, 1);
      int from = -1;
      EXPECT_TRUE(buffer->waitRecv(&from, kLong));
      EXPECT_EQ(from, 0);
      buffer->send(0, 2);
      buffer->waitSend();
    });
    const auto sent = here_.createUnboundBuffer(out.data(), bytes);
    const auto received = here_.createUnboundBuffer(back.data(), bytes);
    received->recv(1, 2);
    sent->send(1, 1);
    EXPECT_TRUE(sent->waitSend(kLong));
    EXPECT_TRUE(received->waitRecv(kLong));
    other.join();
    EXPECT_EQ(out, back) << bytes;
  }
}

TEST_F(GlooTransportTest, MessagesFindTheirSlotsAndParts) {
  MakePeer();
  std::string text = "abcdef", first(2, ' '), second(4, ' ');
  const auto out = peer_->createUnboundBuffer(text.data(), text.size());
  out->send(0, 10, 2);  // all from byte 2 on
  out->send(0, 11, 1, 1);
  EXPECT_TRUE(out->waitSend(kLong));
  EXPECT_TRUE(out->waitSend(kLong));
  const auto one = here_.createUnboundBuffer(first.data(), 2);
  const auto four = here_.createUnboundBuffer(second.data(), 4);
  one->recv(1, 11, 1, 1);
  four->recv(1, 10);
  EXPECT_TRUE(one->waitRecv(kLong));
  EXPECT_TRUE(four->waitRecv(kLong));
  EXPECT_EQ(first, " b");
  EXPECT_EQ(second, "cdef");
}

TEST_F(GlooTransportTest, AMessageWaitsForItsReceive) {
  SendRaw(6, 2, "hi");
  SendRaw(7, 3, "you");
  std::string data(2, ' ');
  const auto buffer = here_.createUnboundBuffer(data.data(), 2);
  buffer->recv(1, 6);
  EXPECT_TRUE(buffer->waitRecv(kLong));
  EXPECT_EQ(data, "hi");
  EXPECT_EQ(ReceiveError(3), "received");
}

// Each rank sends its number to all others, in another order than they wait for it.
TEST_F(GlooTransportTest, ManyRanksExchangeAtTheSameTime) {
  constexpr int kRanks = 5, kRounds = 200;
  auto sockets = Sockets(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&sockets, rank] {
      GlooTransport transport(rank, std::move(sockets[rank]), [](int) {});
      std::vector<int> in(kRanks), out(kRanks);
      std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> buffers(kRanks);
      for (int round = 0; round < kRounds; ++round) {
        for (int peer = 0; peer < kRanks; ++peer) {
          if (peer == rank) continue;
          out[peer] = 100 * round + 10 * rank + peer;
          buffers[peer] = transport.createUnboundBuffer(&in[peer], sizeof(int));
          buffers[peer]->recv(peer, round);
          const auto sent = transport.createUnboundBuffer(&out[peer], sizeof(int));
          sent->send(peer, round);
          EXPECT_TRUE(sent->waitSend(kLong));
        }
        for (int peer = kRanks - 1; peer >= 0; --peer) {
          if (peer == rank) continue;
          EXPECT_TRUE(buffers[peer]->waitRecv(kLong));
          EXPECT_EQ(in[peer], 100 * round + 10 * peer + rank);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GlooTransportTest, AnEndIsAnErrorAfterTheDataBeforeIt) {
  SendRaw(7, 2, "ab");
  peer_socket() = Socket();
  EXPECT_EQ(ReceiveError(2), "received");
  EXPECT_EQ(ReceiveError(2), "the connection to rank 1 has ended: closed by the peer");
  EXPECT_EQ(closed_, 1);  // told before the error
}

TEST_F(GlooTransportTest, AMessageThatIsCutOffIsAnError) {
  SendRaw(7, 4, "ab");
  peer_socket() = Socket();
  EXPECT_EQ(ReceiveError(4), "the connection to rank 1 has ended: closed by the peer");
}

TEST_F(GlooTransportTest, AWrongNumberOfBytesEndsTheConnection) {
  SendRaw(7, ~uint64_t{0}, "");
  EXPECT_EQ(ReceiveError(4),
            "the connection to rank 1 has ended: it sent a message of "
            "18446744073709551615 bytes where 4 are expected");
  EXPECT_EQ(closed_, 1);
  char byte;
  EXPECT_EQ(recv(peer_socket().fd(), &byte, 1, 0), 0);  // the peer notices
}

TEST_F(GlooTransportTest, AnotherMessageThanTheAwaitedOneEndsTheConnection) {
  SendRaw(8, 4, "abcd");
  EXPECT_EQ(ReceiveError(4),
            "the connection to rank 1 has ended: it sent message 8 where message 7 is expected");
}

TEST_F(GlooTransportTest, SilenceIsAnErrorAfterTheTimeout) {
  EXPECT_EQ(ReceiveError(4, kShort), "no answer in time");
  // The receive that was given up had not begun, so the connection lives on.
  SendRaw(7, 4, "abcd");
  EXPECT_EQ(ReceiveError(4), "received");
}

TEST_F(GlooTransportTest, AReceiveThatIsGivenUpHalfWayEndsTheConnection) {
  SendRaw(7, 4, "ab");
  EXPECT_EQ(ReceiveError(4, kShort), "no answer in time");
  EXPECT_EQ(ReceiveError(4), "the connection to rank 1 has ended: a message was given up");
}

TEST_F(GlooTransportTest, AFullSocketDelaysASend) {
  std::string data(16 << 20, 'x');
  const auto buffer = here_.createUnboundBuffer(data.data(), data.size());
  buffer->send(1, 1);
  EXPECT_THROW(buffer->waitSend(kShort), gloo::IoException);
  size_t read = 0;
  std::thread reader([&] {
    std::string part(1 << 20, ' ');
    while (read < data.size() + 16) {
      const ssize_t n = recv(peer_socket().fd(), part.data(), part.size(), 0);
      if (n > 0) read += static_cast<size_t>(n);
    }
  });
  EXPECT_TRUE(buffer->waitSend(kLong));
  reader.join();
  EXPECT_EQ(read, data.size() + 16);
}

TEST_F(GlooTransportTest, OtherThreadsEndWaits) {
  char byte = 0;
  const auto buffer = here_.createUnboundBuffer(&byte, 1);
  buffer->recv(1, 7);
  std::thread other([&] {
    SleepMs(100);
    buffer->abortWaitRecv();
  });
  EXPECT_FALSE(buffer->waitRecv(kLong));
  other.join();
  other = std::thread([&] {
    SleepMs(100);
    here_.Close();
    here_.Close();
  });
  EXPECT_THROW(buffer->waitRecv(kLong), gloo::IoException);
  other.join();
  EXPECT_THROW(buffer->waitRecv(kLong), gloo::IoException);
  EXPECT_EQ(closed_, -1);  // the peer did not end it
  EXPECT_EQ(recv(peer_socket().fd(), &byte, 1, 0), 0);
}

TEST_F(GlooTransportTest, RefusesWhatItDoesNotHave) {
  char bytes[4];
  const auto buffer = here_.createUnboundBuffer(bytes, 4);
  EXPECT_THROW(buffer->send(0, 1), gloo::InvalidOperationException);  // to itself
  EXPECT_THROW(buffer->recv(2, 1), gloo::InvalidOperationException);
  EXPECT_THROW(buffer->recv(-1, 1), gloo::InvalidOperationException);
  EXPECT_THROW(buffer->recv(std::vector<int>{0, 1}, 1), gloo::InvalidOperationException);
  EXPECT_THROW(buffer->send(1, 1, 3, 2), gloo::InvalidOperationException);
  EXPECT_THROW(buffer->send(1, 1, 5), gloo::InvalidOperationException);
  EXPECT_THROW(here_.createPair(1), gloo::InvalidOperationException);
}

TEST_F(GlooTransportTest, AWaitEndsWithWhatItsCheckThrows) {
  here_.SetWhileWaiting([] { throw gloo::IoException("in vain"); });
  EXPECT_EQ(ReceiveError(1), "in vain");
  here_.SetWhileWaiting(nullptr);
  SendRaw(7, 1, "x");
  EXPECT_EQ(ReceiveError(1), "received");
}

}  // namespace
}  // namespace caffe2::testing
