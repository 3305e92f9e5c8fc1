#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ConditionalOpTest, ChoosesRows) {
  Workspace ws;
  Tensor* condition = BlobGetMutableTensor(ws.CreateBlob("C"), Device{});
  condition->Resize(2);
  condition->mutable_data<bool>()[0] = false;
  condition->mutable_data<bool>()[1] = true;
  Feed<float>(&ws, "T", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "F", {2, 2}, {-1, -2, -3, -4});
  RunOp(&ws, Op("Conditional", {"C", "T", "F"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {-1, -2, 3, 4});
  FeedRandom(&ws, "F", {3, 2}, 1);
  ExpectThrows(&ws, Op("Conditional", {"C", "T", "F"}, {"Y"}),
               "both choices must have the same shape and type");
  ExpectThrows(&ws, Op("Conditional", {"C", "F", "F"}, {"Y"}), "each row");
}

TEST(FindOpTest, FindsTheLastPosition) {
  Workspace ws;
  Feed<int32_t>(&ws, "index", {4}, {5, 8, 5, 9});
  Feed<int32_t>(&ws, "query", {3}, {5, 7, 9});
  RunOp(&ws, Op("Find", {"index", "query"}, {"Y"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{2, -1, 3}));
  RunOp(&ws, Op("Find", {"index", "query"}, {"Y"}, {MakeArgument("missing_value", 100)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y")[1], 100);
}

TEST(FindOpTest, LongLists) {
  Workspace ws;
  std::vector<int64_t> index, query, expected;
  for (int64_t i = 0; i < 1000; ++i) index.push_back(i * i % 331 - (int64_t{1} << 40));
  for (int64_t i = -2; i < 340; ++i) {
    query.push_back(i - (int64_t{1} << 40));
    int64_t at = -7;
    for (int64_t k = 0; k < 1000; ++k) at = index[k] == query.back() ? k : at;
    expected.push_back(at);
  }
  Feed(&ws, "index", {1000}, index);
  Feed(&ws, "query", {2, 171}, query);
  const OperatorDef op = Op("Find", {"index", "query"}, {"Y"}, {MakeArgument("missing_value", -7)});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), expected);
  Feed<int64_t>(&ws, "index", {0}, {});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), std::vector<int64_t>(342, -7));
  Feed<float>(&ws, "index", {1}, {1});
  ExpectThrows(&ws, op, "float");
}

}  // namespace
}  // namespace caffe2::testing
