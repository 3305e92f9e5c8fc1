#include "caffe2/core/fork_safe_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "caffe2/core/net_observer.h"
#include "tests/core/test_operators.h"

namespace caffe2 {
namespace {

using testing::BodyOp;
using testing::FeedScalar;
using testing::FetchScalar;
using testing::Net;
using testing::TestBodies;

// Forks `times` times while the threads call `busy` again and again. Returns how many children do
// not end with status 0 after child(); one that hangs is ended by an alarm.
template <typename Busy, typename Child>
int BadChildren(int times, const Busy& busy, const Child& child) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      while (!stop) busy(t);
    });
  }
  int bad = 0;
  for (int i = 0; i < times && bad == 0; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      _exit(child() ? 0 : 1);
    }
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) ++bad;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return bad;
}

TEST(ForkSafeMutexTest, AChildFindsTheMutexesOfItsParentFree) {
  ForkSafeMutex first, second;
  const auto lock_each = [&](int) {
    for (ForkSafeMutex* mutex : {&first, &second}) {
      const std::lock_guard<ForkSafeMutex> lock(*mutex);
    }
    const ForkSafeMutex one_more;
  };
  EXPECT_EQ(BadChildren(300, lock_each,
                        [&] {
                          lock_each(0);
                          return first.try_lock() && second.try_lock();
                        }),
            0);
  EXPECT_TRUE(first.try_lock());
  first.unlock();
}

TEST(ForkSafeMutexTest, AMutexThatIsDestroyedInTheMiddleIsLockedNoMore) {
  auto first = std::make_unique<ForkSafeMutex>(), second = std::make_unique<ForkSafeMutex>(),
       third = std::make_unique<ForkSafeMutex>();
  second.reset();
  third.reset();
  first.reset();
  EXPECT_EQ(BadChildren(
                3, [](int) {}, [] { return true; }),
            0);
}

TEST(ForkSafeMutexTest, AChildMakesBlobsAndNetsWhateverTheThreadsOfItsParentDo) {
  TestBodies()["twice"] = [](OperatorBase* op) {
    const float x = *op->Input<Tensor>(0).data<float>();
    Tensor* y = BlobGetMutableTensor(op->OutputBlob(0), Device{});
    y->Resize(1);
    *y->mutable_data<float>() = 2 * x;
    return true;
  };
  Workspace ws;
  FeedScalar(&ws, "x", 3);
  const auto busy = [&](int t) {
    const std::string own = "blob" + std::to_string(t);
    FeedScalar(&ws, own, 1);
    ws.RemoveBlob(own);
    Workspace child(&ws);
    child.RunNetOnce(Net("net", {BodyOp("twice", {"x"}, {own})}));
  };
  const auto child = [&] {
    FeedScalar(&ws, "x", 4);
    ws.CreateNet(Net("forked", {BodyOp("twice", {"x"}, {"y"})}));
    return ws.RunNet("forked") && FetchScalar(ws, "y") == 8 && ws.RemoveBlob("y");
  };
  EXPECT_EQ(BadChildren(400, busy, child), 0);
}

}  // namespace
}  // namespace caffe2
