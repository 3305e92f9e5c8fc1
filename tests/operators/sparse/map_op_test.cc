#include "tests/operators/dataset/dataset_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(MapTest, KeepsKeysAndValues) {
  Workspace ws;
  Feed<int32_t>(&ws, "k", {3}, {3, 1, 2});
  Feed<int64_t>(&ws, "v", {3}, {30, 10, 20});
  RunOp(&ws, Op("KeyValueToMap", {"k", "v"}, {"map"}), true);
  EXPECT_EQ(ws.GetBlob("map")->TypeName(), "(std::unordered_map<int32_t, int64_t>)");
  CopySerialized(&ws, "map", "other");
  RunOp(&ws, Op("MapToKeyValue", {"other"}, {"k2", "v2"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k2"), (Ints{1, 2, 3}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "v2"), (Longs{10, 20, 30}));
  RunOp(&ws,
        Op("CreateMap", {}, {"map"},
           {MakeArgument<int>("key_dtype", TensorProto::INT64),
            MakeArgument<int>("value_dtype", TensorProto::INT32)}),
        true);
  RunOp(&ws, Op("MapToKeyValue", {"map"}, {"k2", "v2"}), true);
  EXPECT_EQ(Fetch(ws, "k2").sizes(), Longs{0});
  EXPECT_TRUE(Fetch(ws, "k2").IsType<int64_t>());
  ExpectThrows(&ws, Op("MapToKeyValue", {"k"}, {"k2", "v2"}), "not a map");
  Feed<float>(&ws, "f", {3}, {1, 2, 3});
  ExpectThrows(&ws, Op("KeyValueToMap", {"f", "v"}, {"map"}), "not float");
  ExpectThrows(&ws, Op("CreateMap", {}, {"map"}, {MakeArgument("key_dtype", 999)}), "999");
}

}  // namespace
}  // namespace caffe2::testing
