#include "operators/dataset/blobs_queue_op.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "caffe2/core/net.h"
#include "tests/operators/op_test.h"

namespace caffe2 {
namespace {

using testing::Feed;
using testing::FetchValues;
using testing::Flags;
using testing::Floats;
using testing::Ints;
using testing::Op;
using testing::RunOp;
using testing::Strings;

class BlobsQueueTest : public ::testing::Test {
 protected:
  void Create(int capacity, int num_blobs, const std::string& name = "queue") {
    RunOp(&ws_, Op("CreateBlobsQueue", {}, {name},
                   {MakeArgument("capacity", capacity), MakeArgument("num_blobs", num_blobs)}));
  }
  bool Run(const OperatorDef& op) { return ws_.RunOperatorOnce(op); }
  void Enqueue(float value, const std::string& queue = "queue") {
    Feed<float>(&ws_, "x", {1}, {value});
    RunOp(&ws_, Op("EnqueueBlobs", {queue, "x"}, {"x"}));
  }
  void Close() { RunOp(&ws_, Op("CloseBlobsQueue", {"queue"}, {})); }
  void ExpectStatus(const std::string& name, bool expected) const {
    EXPECT_EQ(testing::FetchValues<bool>(ws_, name), Flags{expected});
  }

  Workspace ws_;
};

TEST_F(BlobsQueueTest, RecordsComeOutInOrder) {
  Create(3, 2);
  for (int i = 0; i < 3; ++i) {
    Feed<int>(&ws_, "a", {2}, {i, i + 10});
    Feed<std::string>(&ws_, "b", {1}, {std::string(i, 'x')});
    RunOp(&ws_, Op("EnqueueBlobs", {"queue", "a", "b"}, {"a", "b"}));
  }
  for (int i = 0; i < 3; ++i) {
    RunOp(&ws_, Op("DequeueBlobs", {"queue"}, {"c", "d"}));
    EXPECT_EQ(FetchValues<int>(ws_, "c"), (std::vector<int>{i, i + 10}));
    EXPECT_EQ(FetchValues<std::string>(ws_, "d"), Strings{std::string(i, 'x')});
  }
}

TEST_F(BlobsQueueTest, ClosedQueueIsReadToItsEndAndTakesNoMore) {
  Create(4, 1);
  Enqueue(1);
  Enqueue(2);
  Close();
  Feed<float>(&ws_, "x", {1}, {3});
  EXPECT_FALSE(Run(Op("EnqueueBlobs", {"queue", "x"}, {"x"})));
  EXPECT_EQ(FetchValues<float>(ws_, "x"), Floats{3});  // untouched
  for (float expected : {1.f, 2.f}) {
    ASSERT_TRUE(Run(Op("DequeueBlobs", {"queue"}, {"y"})));
    EXPECT_EQ(FetchValues<float>(ws_, "y"), Floats{expected});
  }
  EXPECT_FALSE(Run(Op("DequeueBlobs", {"queue"}, {"y"})));
}

TEST_F(BlobsQueueTest, SafeOperatorsTellInAStatus) {
  Create(4, 1);
  Feed<float>(&ws_, "x", {1}, {5});
  RunOp(&ws_, Op("SafeEnqueueBlobs", {"queue", "x"}, {"x", "full"}));
  ExpectStatus("full", false);
  Close();
  RunOp(&ws_, Op("SafeDequeueBlobs", {"queue"}, {"y", "end"}));
  ExpectStatus("end", false);
  EXPECT_EQ(FetchValues<float>(ws_, "y"), Floats{5});
  RunOp(&ws_, Op("SafeDequeueBlobs", {"queue"}, {"y", "end"}));
  ExpectStatus("end", true);
  EXPECT_EQ(FetchValues<float>(ws_, "y"), Floats{5});  // kept
  Feed<float>(&ws_, "x", {1}, {6});
  RunOp(&ws_, Op("SafeEnqueueBlobs", {"queue", "x"}, {"x", "full"}));
  ExpectStatus("full", true);
}

TEST_F(BlobsQueueTest, SeveralRecordsAreConcatenated) {
  Create(8, 2);
  int next = 0;
  for (int rows : {1, 3, 0, 2}) {
    std::vector<int> values(rows * 2);
    std::iota(values.begin(), values.end(), next);
    next += rows * 2;
    Feed<int>(&ws_, "a", {rows, 2}, values);
    Feed<std::string>(&ws_, "s", {1}, {"record" + std::to_string(rows)});
    ASSERT_TRUE(Run(Op("EnqueueBlobs", {"queue", "a", "s"}, {"a", "s"})));
  }
  Close();
  const OperatorDef dequeue =
      Op("SafeDequeueBlobs", {"queue"}, {"y", "t", "end"}, {MakeArgument("num_records", 3)});
  RunOp(&ws_, dequeue);
  ExpectStatus("end", false);
  EXPECT_EQ(testing::Fetch(ws_, "y").sizes(), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(FetchValues<int>(ws_, "y"), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(FetchValues<std::string>(ws_, "t"),
            (std::vector<std::string>{"record1", "record3", "record0"}));
  RunOp(&ws_, dequeue);  // the last one
  ExpectStatus("end", false);
  EXPECT_EQ(FetchValues<int>(ws_, "y"), (std::vector<int>{8, 9, 10, 11}));
  RunOp(&ws_, dequeue);
  ExpectStatus("end", true);
}

TEST_F(BlobsQueueTest, RecordsOfDifferentShapesAreNotConcatenated) {
  Create(8, 1);
  Feed<int>(&ws_, "a", {1, 2}, {1, 2});
  ASSERT_TRUE(Run(Op("EnqueueBlobs", {"queue", "a"}, {"a"})));
  Feed<int>(&ws_, "a", {1, 3}, {1, 2, 3});
  ASSERT_TRUE(Run(Op("EnqueueBlobs", {"queue", "a"}, {"a"})));
  testing::ExpectThrows(
      &ws_, Op("SafeDequeueBlobs", {"queue"}, {"y", "end"}, {MakeArgument("num_records", 2)}),
      "cannot be concatenated");
}

TEST_F(BlobsQueueTest, ManyWritersAndReadersLoseNothing) {
  constexpr int kThreads = 3, kRecords = 300;
  BlobsQueue queue(2, 1);
  std::vector<std::thread> writers, readers;
  std::vector<std::vector<int>> seen(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([&, t] {
      Blob blob;
      for (int i = 0; i < kRecords; ++i) {
        *blob.GetMutable<int>() = t * kRecords + i;
        EXPECT_TRUE(queue.Write({&blob}));
      }
    });
    readers.emplace_back([&, t] {
      Blob blob;
      while (queue.Read({&blob})) seen[t].push_back(blob.Get<int>());
    });
  }
  for (std::thread& thread : writers) thread.join();
  queue.Close();
  for (std::thread& thread : readers) thread.join();
  std::vector<int> all;
  for (const auto& values : seen) all.insert(all.end(), values.begin(), values.end());
  std::sort(all.begin(), all.end());
  std::vector<int> expected(kThreads * kRecords);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST_F(BlobsQueueTest, CloseWakesWritersAndReaders) {
  BlobsQueue full(1, 1), empty(1, 1);
  Blob blob, other;
  ASSERT_TRUE(full.Write({&blob}));
  std::thread writer([&] { EXPECT_FALSE(full.Write({&blob})); });
  std::thread reader([&] { EXPECT_FALSE(empty.Read({&other})); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  full.Close();
  empty.Close();
  writer.join();
  reader.join();
}

TEST_F(BlobsQueueTest, WaitingEndsAfterTheTimeoutAndOnAStop) {
  Create(1, 1);
  EXPECT_FALSE(Run(Op("DequeueBlobs", {"queue"}, {"y"}, {MakeArgument("timeout_secs", 0.02f)})));
  std::thread stopper([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ws_.RequestStop();
  });
  EXPECT_THROW(Run(Op("DequeueBlobs", {"queue"}, {"y"})), Error);
  stopper.join();
}

TEST_F(BlobsQueueTest, AHugeTimeoutDoesNotOverflow) {
  BlobsQueue queue(1, 1);
  Blob written, read;
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(queue.Write({&written}));
  });
  EXPECT_TRUE(queue.Read({&read}, 1e10));
  writer.join();
}

TEST_F(BlobsQueueTest, WeightsChooseTheQueue) {
  for (const char* name : {"q0", "q1", "q2"}) Create(400, 1, name);
  for (int i = 0; i < 400; ++i) {
    Enqueue(0, "q0");
    Enqueue(2, "q2");
  }
  OperatorDef op =
      Op("WeightedSampleDequeueBlobs", {"q0", "q1", "q2"}, {"y", "status", "index"},
         {MakeArgument("weights", std::vector<float>{1, 0, 3}), MakeArgument("table_idx_blob", 2)});
  op.mutable_device_option()->set_random_seed(3);
  NetDef net;
  net.set_name("sampler");
  *net.add_op() = op;
  NetBase* created = ws_.CreateNet(net);
  RunOp(&ws_, op);
  int from_last = 0;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(created->Run());
    const int index = FetchValues<int>(ws_, "index").at(0);
    EXPECT_EQ(FetchValues<int>(ws_, "index"), Ints{index == 0 ? 0 : 2});
    EXPECT_EQ(FetchValues<float>(ws_, "y"), Floats{static_cast<float>(index)});
    EXPECT_EQ(testing::FetchValues<bool>(ws_, "status"), Flags{false});
    from_last += index == 2;
  }
  // Binomial(300, 3/4): mean 225, standard deviation 7.5.
  EXPECT_NEAR(from_last, 225, 38);

  // Without an output of its own the index takes the place of a blob, as in Caffe2.
  RunOp(&ws_, Op("WeightedSampleDequeueBlobs", {"q0"}, {"y", "status"},
                 {MakeArgument("table_idx_blob", 0)}));
  EXPECT_EQ(FetchValues<int>(ws_, "y"), Ints{0});
  testing::ExpectThrows(&ws_,
                        Op("WeightedSampleDequeueBlobs", {"q0"}, {"y", "status"},
                           {MakeArgument("table_idx_blob", 1)}),
                        "table_idx_blob must not be 1");
  for (const char* queue : {"q0", "q2"}) RunOp(&ws_, Op("CloseBlobsQueue", {queue}, {}), true);
  while (!*testing::Fetch(ws_, "status").data<bool>()) {
    RunOp(&ws_, Op("WeightedSampleDequeueBlobs", {"q0"}, {"y", "status"}));
  }
  testing::ExpectThrows(&ws_, Op("WeightedSampleDequeueBlobs", {"q0"}, {"a", "b", "c", "d"}),
                        "4 outputs");
}

TEST_F(BlobsQueueTest, MistakesAreNamed) {
  using testing::ExpectThrows;
  ExpectThrows(&ws_, Op("CreateBlobsQueue", {}, {"q"}, {MakeArgument("capacity", 0)}), "capacity");
  ExpectThrows(&ws_, Op("CreateBlobsQueue", {}, {"q"}, {MakeArgument("num_blobs", -1)}),
               "num_blobs");
  ExpectThrows(&ws_,
               Op("CreateBlobsQueue", {}, {"q"},
                  {MakeArgument("field_names", std::vector<std::string>{"a", "b"})}),
               "field_names");
  Create(1, 2);
  ExpectThrows(&ws_,
               Op("CreateBlobsQueue", {}, {"queue"}, {MakeArgument("enforce_unique_name", true)}),
               "exists already");
  Feed<float>(&ws_, "x", {1}, {1});
  ExpectThrows(&ws_, Op("EnqueueBlobs", {"queue", "x"}, {"x"}),
               "a record of the queue must have 2 blobs, found 1");
  ExpectThrows(&ws_, Op("EnqueueBlobs", {"queue", "x"}, {"y"}), "");
  ExpectThrows(&ws_, Op("DequeueBlobs", {"x"}, {"y"}), "x");
  ExpectThrows(&ws_,
               Op("WeightedSampleDequeueBlobs", {"queue"}, {"y", "status"},
                  {MakeArgument("weights", std::vector<float>{0})}),
               "weights");
}

}  // namespace
}  // namespace caffe2
