#include "distributed/connection_watch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// Two sockets that are connected with each other.
struct Connected {
  Connected() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    here = Socket(ends[0]);
    peer = Socket(ends[1]);
  }
  Socket here, peer;
};

// What was noticed, in order.
class Noticed {
 public:
  std::function<void()> Note(int which) {
    return [this, which] {
      std::lock_guard<std::mutex> lock(mutex_);
      all_.push_back(which);
    };
  }
  std::vector<int> all() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return all_;
  }
  // Waits until so many were noticed.
  std::vector<int> Await(size_t count) const {
    for (int i = 0; i < 1000 && all().size() < count; ++i) SleepMs(10);
    return all();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> all_;
};

TEST(ConnectionWatchTest, TellsTheOrderInWhichConnectionsEnd) {
  ConnectionWatch& watch = ConnectionWatch::OfProcess();
  for (const bool update : {false, true}) {
    std::vector<Connected> pairs(5);
    Noticed noticed;
    for (int i = 0; i < 5; ++i) watch.Add(pairs[i].here.fd(), noticed.Note(i));
    const std::vector<int> order = {3, 0, 4, 1};
    for (const int i : order) pairs[i].peer = Socket();
    if (update) watch.Update();
    EXPECT_EQ(update ? noticed.all() : noticed.Await(4), order);
    for (const Connected& pair : pairs) watch.Remove(pair.here.fd());
  }
}

TEST(ConnectionWatchTest, NoticesTheEndAfterDataThatNobodyReads) {
  ConnectionWatch& watch = ConnectionWatch::OfProcess();
  Connected pair;
  Noticed noticed;
  watch.Add(pair.here.fd(), noticed.Note(7));
  ASSERT_EQ(send(pair.peer.fd(), "abc", 3, 0), 3);
  watch.Update();
  EXPECT_TRUE(noticed.all().empty());  // data alone are no end
  pair.peer = Socket();
  EXPECT_EQ(noticed.Await(1), std::vector<int>{7});
  watch.Remove(pair.here.fd());
}

TEST(ConnectionWatchTest, IsSilentAboutWhatThisProcessEnds) {
  ConnectionWatch& watch = ConnectionWatch::OfProcess();
  Connected ended, open;
  Noticed noticed;
  watch.Add(ended.here.fd(), noticed.Note(1));
  watch.Remove(ended.here.fd());
  watch.Remove(ended.here.fd());  // twice is once
  ended.peer = Socket();
  watch.Update();
  SleepMs(50);
  EXPECT_TRUE(noticed.all().empty());
  EXPECT_THROW(watch.Add(-1, noticed.Note(2)), IoError);
}

}  // namespace
}  // namespace caffe2::testing
