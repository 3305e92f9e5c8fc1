#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "operators/dataset/rebatching_queue.h"
#include "tests/operators/op_test.h"

namespace caffe2 {
namespace {

using testing::Feed;
using testing::Fetch;
using testing::FetchValues;
using testing::Op;
using testing::RunOp;

class RebatchingQueueTest : public ::testing::Test {
 protected:
  void Create(int capacity, int num_blobs) {
    RunOp(&ws_, Op("CreateRebatchingQueue", {}, {"queue"},
                   {MakeArgument("capacity", capacity), MakeArgument("num_blobs", num_blobs)}));
  }
  OperatorDef Dequeue(const std::vector<std::string>& outputs, int n) const {
    return Op("DequeueRebatchingQueue", {"queue"}, outputs, {MakeArgument("num_elements", n)});
  }
  OperatorDef EnqueueBatch(const std::vector<std::string>& tensors) const {
    std::vector<std::string> inputs = {"queue"};
    inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    return Op("EnqueueRebatchingQueue", inputs, {}, {MakeArgument("enqueue_batch", true)});
  }
  Workspace ws_;
};

TEST_F(RebatchingQueueTest, RowsAreDealtInBatchesOfAnotherSize) {
  Create(10, 2);
  Feed<int>(&ws_, "a", {3, 2}, {0, 1, 2, 3, 4, 5});
  Feed<std::string>(&ws_, "b", {3}, {"x", "y", "z"});
  RunOp(&ws_, EnqueueBatch({"a", "b"}));
  RunOp(&ws_, EnqueueBatch({"a", "b"}));
  RunOp(&ws_, Dequeue({"c", "d"}, 4));
  EXPECT_EQ(Fetch(ws_, "c").sizes(), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(FetchValues<int>(ws_, "c"), (std::vector<int>{0, 1, 2, 3, 4, 5, 0, 1}));
  EXPECT_EQ(FetchValues<std::string>(ws_, "d"), (std::vector<std::string>{"x", "y", "z", "x"}));
  RunOp(&ws_, Op("CloseRebatchingQueue", {"queue"}, {}));
  RunOp(&ws_, Dequeue({"c", "d"}, 4));  // two are left
  EXPECT_EQ(FetchValues<int>(ws_, "c"), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_FALSE(ws_.RunOperatorOnce(Dequeue({"c", "d"}, 4)));
  EXPECT_FALSE(ws_.RunOperatorOnce(EnqueueBatch({"a", "b"})));
}

TEST_F(RebatchingQueueTest, WholeTensorsAreCopiedAndStacked) {
  Create(2, 1);
  Feed<float>(&ws_, "a", {2}, {1, 2});
  RunOp(&ws_, Op("EnqueueRebatchingQueue", {"queue", "a"}, {}));
  Feed<float>(&ws_, "a", {2}, {3, 4});
  RunOp(&ws_, Op("EnqueueRebatchingQueue", {"queue", "a"}, {}));
  RunOp(&ws_, Dequeue({"c"}, 2));
  EXPECT_EQ(Fetch(ws_, "c").sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(FetchValues<float>(ws_, "c"), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(RebatchingQueueTest, AStopLosesNoElement) {
  Create(10, 1);
  Feed<float>(&ws_, "rows", {3, 1}, {1, 2, 3});
  RunOp(&ws_, EnqueueBatch({"rows"}));
  std::thread stopper([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ws_.RequestStop();
  });
  EXPECT_THROW(ws_.RunOperatorOnce(Dequeue({"y"}, 5)), Error);
  stopper.join();
  ws_.ClearStop();
  RunOp(&ws_, Dequeue({"y"}, 3));
  EXPECT_EQ(FetchValues<float>(ws_, "y"), (std::vector<float>{1, 2, 3}));
}

TEST_F(RebatchingQueueTest, BatchesLargerThanTheQueuePassThrough) {
  constexpr int kProducers = 3, kRows = 50;
  RebatchingQueue queue(4, 1);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      std::vector<int> values(kRows);
      std::iota(values.begin(), values.end(), p * kRows);
      const Tensor rows({kRows}, values);
      EXPECT_TRUE(queue.Enqueue({&rows}, true));
    });
  }
  std::vector<int> seen;
  std::thread consumer([&] {
    Tensor rows;
    while (queue.Dequeue(7, {&rows})) {
      seen.insert(seen.end(), rows.data<int>(), rows.data<int>() + rows.numel());
    }
  });
  for (std::thread& producer : producers) producer.join();
  queue.Close();
  consumer.join();
  std::sort(seen.begin(), seen.end());
  std::vector<int> expected(kProducers * kRows);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST_F(RebatchingQueueTest, CloseWakesThoseThatWait) {
  RebatchingQueue full(1, 1), empty(1, 1);
  const Tensor one({1}, std::vector<int>{1});
  ASSERT_TRUE(full.Enqueue({&one}, false));
  std::thread writer([&] { EXPECT_FALSE(full.Enqueue({&one}, true)); });
  Tensor output;
  std::thread reader([&] { EXPECT_FALSE(empty.Dequeue(2, {&output})); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  full.Close();
  empty.Close();
  writer.join();
  reader.join();
}

TEST_F(RebatchingQueueTest, MistakesAreNamed) {
  using testing::ExpectThrows;
  ExpectThrows(&ws_, Op("CreateRebatchingQueue", {}, {"q"}, {MakeArgument("capacity", 0)}),
               "capacity");
  Create(4, 2);
  Feed<float>(&ws_, "a", {2}, {1, 2});
  Feed<float>(&ws_, "b", {3}, {1, 2, 3});
  Feed<float>(&ws_, "scalar", {}, {1});
  ExpectThrows(&ws_, EnqueueBatch({"a"}), "an element of the queue must have 2 tensors, found 1");
  ExpectThrows(&ws_, EnqueueBatch({"a", "b"}), "equally many rows");
  ExpectThrows(&ws_, EnqueueBatch({"scalar", "scalar"}), "equally many rows");
  ExpectThrows(&ws_, Dequeue({"c", "d"}, 0), "num_elements");
  RunOp(&ws_, Op("EnqueueRebatchingQueue", {"queue", "a", "b"}, {}));
  RunOp(&ws_, Op("EnqueueRebatchingQueue", {"queue", "b", "b"}, {}));
  ExpectThrows(&ws_, Dequeue({"c", "d"}, 2), "cannot be stacked");
}

}  // namespace
}  // namespace caffe2
