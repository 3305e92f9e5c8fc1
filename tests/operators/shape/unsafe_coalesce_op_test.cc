#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

TEST(UnsafeCoalesceTest, PutsTensorsIntoOnePiece) {
  Workspace ws;
  Feed<float>(&ws, "a", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "b", {0, 3}, {});
  Feed<float>(&ws, "c", {1}, {5});
  const OperatorDef op = Op("UnsafeCoalesce", {"a", "b", "c"}, {"a", "b", "c", "all"});
  RunOp(&ws, op);
  ExpectTensor(ws, "a", {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Fetch(ws, "b").sizes(), (Longs{0, 3}));
  ExpectTensor(ws, "c", {1}, {5});
  ExpectTensor(ws, "all", {5}, {1, 2, 3, 4, 5});
  if (!TestsCuda()) {  // there, blobs here are copies
    BlobGetMutableTensor(ws.GetBlob("all"), Device{})->mutable_data<float>()[4] = 9;
    ExpectTensor(ws, "c", {1}, {9});
    const void* before = Fetch(ws, "all").raw_data();
    RunOp(&ws, op);
    EXPECT_EQ(Fetch(ws, "all").raw_data(), before);
  }
  // Another shape: everything moves.
  Feed<float>(&ws, "b", {2}, {7, 8});
  RunOp(&ws, op);
  ExpectTensor(ws, "all", {7}, {1, 2, 3, 4, 7, 8, TestsCuda() ? 5.f : 9.f});
  Feed<double>(&ws, "b", {1}, {7});
  ExpectThrows(&ws, op, "must hold float");
  ExpectThrows(&ws, Op("UnsafeCoalesce", {"a", "c"}, {"x", "c", "all"}), "in place");
}

TEST(PassThroughTest, LeavesBlobsAsTheyAre) {
  Workspace ws;
  Feed<float>(&ws, "a", {2}, {1, 2});
  Feed<int32_t>(&ws, "b", {1}, {3});
  RunOp(&ws, Op("DataCouple", {"a", "b"}, {"a"}));
  RunOp(&ws, Op("AsyncNetBarrier", {"a", "b"}, {"a", "b"}));
  ExpectTensor(ws, "a", {2}, {1, 2});
  EXPECT_EQ(FetchValues<int32_t>(ws, "b"), std::vector<int32_t>{3});
  ExpectThrows(&ws, Op("AsyncNetBarrier", {"a"}, {"c"}), "in place");
  const OperatorDef alias =
      Op("AliasWithName", {"a"}, {"z"}, {MakeArgument<std::string>("name", "whatever")});
  RunOp(&ws, alias);
  ExpectTensor(ws, "z", {2}, {1, 2});
  EXPECT_EQ(Fetch(ws, "z").raw_data(), Fetch(ws, "a").raw_data());
  CheckGradient(&ws, Op("AliasWithName", {"a"}, {"y"}), {0});
}

}  // namespace
}  // namespace caffe2::testing
