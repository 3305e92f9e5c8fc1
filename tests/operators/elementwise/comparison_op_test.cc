// Comparisons, logic, Where, element-wise Max, Min, Mean, ScatterWeightedSum.
#include "tests/operators/elementwise/elementwise_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

Fetched<int> Bools(const Workspace& ws, const std::string& name) {
  const Tensor& tensor = Fetch(ws, name);
  return {{tensor.data<bool>(), tensor.data<bool>() + tensor.numel()}, ws, name};
}

TEST(ComparisonOpTest, EveryRelation) {
  const std::vector<std::pair<const char*, std::vector<int>>> expected = {
      {"EQ", {0, 1, 0}}, {"NE", {1, 0, 1}}, {"LT", {1, 0, 0}},
      {"LE", {1, 1, 0}}, {"GT", {0, 0, 1}}, {"GE", {0, 1, 1}}};
  for (const auto& [type, result] : expected) {
    Workspace ws;
    Feed<float>(&ws, "A", {3}, {1, 2, 3});
    Feed<float>(&ws, "B", {3}, {2, 2, 2});
    RunOp(&ws, Op(type, {"A", "B"}, {"C"}));
    EXPECT_EQ(Bools(ws, "C"), result) << type;
    Feed<int64_t>(&ws, "A", {1, 3}, {1, 2, 3});
    Feed<int64_t>(&ws, "B", {1}, {2});
    RunOp(&ws, Op(type, {"A", "B"}, {"C"}, {MakeArgument("broadcast", 1)}));
    EXPECT_EQ(Bools(ws, "C"), result) << type;
    Feed<std::string>(&ws, "A", {1}, {"a"});
    ExpectThrows(&ws, Op(type, {"A", "A"}, {"C"}), "not supported");
  }
}

TEST(ComparisonOpTest, Logic) {
  Workspace ws;
  FeedBools(&ws, "A", {4}, {0, 0, 1, 1});
  FeedBools(&ws, "B", {4}, {0, 1, 0, 1});
  RunOp(&ws, Op("And", {"A", "B"}, {"C"}));
  EXPECT_EQ(Bools(ws, "C"), (std::vector<int>{0, 0, 0, 1}));
  RunOp(&ws, Op("Or", {"A", "B"}, {"C"}));
  EXPECT_EQ(Bools(ws, "C"), (std::vector<int>{0, 1, 1, 1}));
  RunOp(&ws, Op("Xor", {"A", "B"}, {"A"}));
  EXPECT_EQ(Bools(ws, "A"), (std::vector<int>{0, 1, 1, 0}));
  RunOp(&ws, Op("Not", {"A"}, {"A"}));
  EXPECT_EQ(Bools(ws, "A"), (std::vector<int>{1, 0, 0, 1}));
  FeedBools(&ws, "row", {1}, {1});
  RunOp(&ws, Op("Or", {"A", "row"}, {"C"}));
  EXPECT_EQ(Bools(ws, "C"), (std::vector<int>{1, 1, 1, 1}));
  Feed<float>(&ws, "X", {1}, {1});
  ExpectThrows(&ws, Op("And", {"X", "X"}, {"C"}), "not supported");
}

TEST(ComparisonOpTest, NotOfMany) {
  for (const int64_t n : {1, 15, 70, 100003}) {
    std::vector<int> values, expected;
    for (int64_t i = 0; i < n; ++i) {
      values.push_back(i * i % 7 < 3);
      expected.push_back(1 - values.back());
    }
    Workspace ws;
    FeedBools(&ws, "A", {n}, values);
    RunOp(&ws, Op("Not", {"A"}, {"B"}));
    EXPECT_EQ(Bools(ws, "B"), expected);
    RunOp(&ws, Op("Not", {"A"}, {"A"}));
    EXPECT_EQ(Bools(ws, "A"), expected);
  }
}

}  // namespace
}  // namespace caffe2::testing
