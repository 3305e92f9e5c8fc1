#include "tests/operators/dataset/dataset_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST_F(DatasetTest, RecordsArePackedAndUnpacked) {
  RunOp(&ws, Op("PackRecords", columns, {"packed"}, {fields}), true);
  EXPECT_EQ(Fetch(ws, "packed").sizes(), Longs{3});
  Feed<int32_t>(&ws, "take", {2}, {2, 1});
  RunOp(&ws, Op("Gather", {"packed", "take"}, {"some"}));
  RunOp(&ws, Op("UnPackRecords", {"some"}, batch, {fields}), true);
  ExpectBatch({3, 2}, {0, 2}, {20, 30}, {1, 1}, {3, 4});
  Feed<int32_t>(&ws, "take", {0}, {});
  RunOp(&ws, Op("Gather", {"packed", "take"}, {"none"}));
  RunOp(&ws, Op("UnPackRecords", With({"none"}), batch, {fields}), true);
  ExpectBatch({}, {}, {}, {}, {});
  ExpectThrows(&ws, Op("UnPackRecords", {"none"}, batch, {fields}), "neither records");
}

TEST_F(DatasetTest, RecordsArePackedAsOne) {
  RunOp(&ws,
        Op("PackRecords", columns, {"packed"},
           {fields, MakeArgument("pack_to_single_shared_ptr", 1)}),
        true);
  EXPECT_EQ(Fetch(ws, "packed").sizes(), Longs{1});
  RunOp(&ws, Op("UnPackRecords", {"packed"}, batch, {fields}), true);
  ExpectBatch({1, 2, 3}, {1, 2, 0}, {10, 20, 30}, {2, 1, 1}, {1, 2, 3, 4});
}

TEST(AppendTest, GrowsTensors) {
  Workspace ws;
  Feed<float>(&ws, "X", {0, 2}, {});
  Feed<float>(&ws, "Y", {2, 2}, {1, 2, 3, 4});
  Feed<std::string>(&ws, "S", {1}, {"a"});
  Feed<std::string>(&ws, "T", {1}, {"b"});
  RunOp(&ws, Op("Append", {"X", "Y"}, {"X"}), true);
  RunOp(&ws, Op("CreateMutex", {}, {"mutex"}), true);
  RunOp(&ws, Op("AtomicAppend", {"mutex", "X", "S", "Y", "T"}, {"X", "S"}), true);
  ExpectTensor(ws, "X", {4, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  EXPECT_EQ(FetchValues<std::string>(ws, "S"), (Strings{"a", "b"}));
  Feed<float>(&ws, "wide", {1, 3}, {1, 2, 3});
  ExpectThrows(&ws, Op("Append", {"X", "wide"}, {"X"}), "[1, 3] cannot be appended");
  ExpectThrows(&ws, Op("Append", {"X", "S"}, {"X"}), "cannot be appended");
}

TEST(TensorVectorTest, CollectsASample) {
  Workspace ws;
  RunOp(&ws, Op("CreateTensorVector", {}, {"v"}), true);
  RunOp(&ws, Op("CreateTensorVector", {}, {"w"}), true);
  NetDef net;
  net.set_name("collect");
  *net.add_op() =
      Op("CollectTensor", {"v", "w", "X", "Y"}, {"v", "w"}, {MakeArgument("num_to_collect", 3)});
  for (const char* name : {"v", "w", "X", "Y"}) net.add_external_input(name);
  ws.CreateBlob("X");
  ws.CreateBlob("Y");
  ws.CreateNet(net);
  for (int i = 0; i < 10; ++i) {
    Feed<int32_t>(&ws, "X", {1}, {i});
    Feed<int32_t>(&ws, "Y", {1}, {100 + i});
    ASSERT_TRUE(ws.RunNet("collect"));
  }
  ws.DeleteNet("collect");
  RunOp(&ws,
        Op("CollectTensor", {"v", "w", "X", "Y"}, {"v", "w"}, {MakeArgument("num_to_collect", 3)}),
        true);
  CopySerialized(&ws, "v", "v");
  RunOp(&ws, Op("TensorVectorSize", {"v"}, {"size"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "size"), Ints{3});
  RunOp(&ws, Op("ConcatTensorVector", {"v"}, {"x"}), true);
  RunOp(&ws, Op("ConcatTensorVector", {"w"}, {"y"}), true);
  Ints together;
  for (const int x : FetchValues<int32_t>(ws, "x")) together.push_back(x + 100);
  EXPECT_EQ(FetchValues<int32_t>(ws, "y"), together);
  RunOp(&ws, Op("CreateTensorVector", {}, {"v"}), true);
  ExpectThrows(&ws, Op("ConcatTensorVector", {"v"}, {"x"}), "empty");
}

}  // namespace
}  // namespace caffe2::testing
