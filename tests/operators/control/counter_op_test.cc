#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/net.h"
#include "tests/operators/dataset/dataset_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(CounterOpTest, CountsUpAndDown) {
  Workspace ws;
  RunOp(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", 2)}));
  const auto expect_count = [&ws](const char* type, int64_t expected) {
    RunOp(&ws, Op(type, {"c"}, {"value"}));
    EXPECT_EQ(FetchValues<int64_t>(ws, "value"), Longs{expected}) << type;
  };
  const auto expect_answer = [&ws](const char* type, bool expected) {
    RunOp(&ws, Op(type, {"c"}, {"value"}));
    EXPECT_EQ(FetchValues<bool>(ws, "value"), Flags{expected}) << type;
  };
  expect_count("CountUp", 2);
  expect_count("RetrieveCount", 3);
  for (int i = 0; i < 3; ++i) {
    expect_answer("CheckCounterDone", false);
    expect_answer("CountDown", false);
  }
  expect_answer("CheckCounterDone", true);
  expect_answer("CountDown", true);
  RunOp(&ws, Op("ResetCounter", {"c"}, {"value"}, {MakeArgument("init_count", 9)}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "value"), Longs{-1});
  RunOp(&ws, Op("ResetCounter", {"c"}, {}));
  expect_count("RetrieveCount", 0);
  Feed<float>(&ws, "X", {1}, {1});
  ExpectThrows(&ws, Op("CountUp", {"X"}, {"value"}), "X");
  ExpectThrows(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", -1)}), "negative");
}

// The bytes that Caffe2 writes.
TEST(CounterOpTest, IsSerializedAsOneNumber) {
  Workspace ws;
  RunOp(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", 41)}));
  RunOp(&ws, Op("CountUp", {"c"}, {"value"}));
  const std::string bytes = SerializeBlob(*ws.GetBlob("c"), "c");
  BlobProto proto;
  ASSERT_TRUE(proto.ParseFromString(bytes));
  EXPECT_EQ(proto.type(), "std::unique_ptr<Counter<int64_t>>");
  EXPECT_EQ(proto.tensor().data_type(), TensorProto::INT64);
  EXPECT_EQ(proto.tensor().dims_size(), 1);
  EXPECT_EQ(proto.tensor().int64_data(0), 42);
  DeserializeBlob(bytes, ws.CreateBlob("d"));
  RunOp(&ws, Op("RetrieveCount", {"d"}, {"value"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "value"), Longs{42});
  proto.mutable_tensor()->set_data_type(TensorProto::FLOAT);
  proto.mutable_tensor()->clear_int64_data();
  proto.mutable_tensor()->add_float_data(1);
  EXPECT_THROW(DeserializeBlob(proto, ws.CreateBlob("d")), EnforceNotMet);
}

TEST(CounterSerializationTest, KeepsTheCount) {
  Workspace ws;
  RunOp(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", 42)}), true);
  CopySerialized(&ws, "c", "d");
  RunOp(&ws, Op("CountUp", {"d"}, {"n"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "n"), Longs{42});
}

}  // namespace
}  // namespace caffe2::testing
