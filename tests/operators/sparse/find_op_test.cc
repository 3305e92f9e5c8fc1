#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(FindOpTest, FindsTheLastPosition) {
  Workspace ws;
  Feed<int32_t>(&ws, "index", {4}, {5, 8, 5, 9});
  Feed<int32_t>(&ws, "query", {3}, {5, 7, 9});
  RunOp(&ws, Op("Find", {"index", "query"}, {"Y"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{2, -1, 3}));
  RunOp(&ws, Op("Find", {"index", "query"}, {"Y"}, {MakeArgument("missing_value", 100)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{2, 100, 3}));
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
