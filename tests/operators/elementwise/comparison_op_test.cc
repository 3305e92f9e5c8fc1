// Comparisons, logic, Where, element-wise Max, Min, Mean, ScatterWeightedSum.
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// std::vector<bool> has no data().
void FeedBools(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
               const std::vector<int>& values) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize(dims);
  std::copy(values.begin(), values.end(), tensor->mutable_data<bool>());
}
std::vector<int> Bools(const Workspace& ws, const std::string& name) {
  const Tensor& tensor = Fetch(ws, name);
  return {tensor.data<bool>(), tensor.data<bool>() + tensor.numel()};
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

TEST(WhereOpTest, ChoosesElementsOrRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "Y", {2, 2}, {-1, -2, -3, -4});
  FeedBools(&ws, "C", {2, 2}, {1, 0, 0, 1});
  FeedBools(&ws, "rows", {2}, {0, 1});
  RunOp(&ws, Op("Where", {"C", "X", "Y"}, {"Z"}));
  ExpectTensor(ws, "Z", {2, 2}, {1, -2, -3, 4});
  RunOp(&ws, Op("Where", {"rows", "X", "Y"}, {"Y"}, {MakeArgument("broadcast_on_rows", 1)}));
  ExpectTensor(ws, "Y", {2, 2}, {-1, -2, 3, 4});
  ExpectThrows(&ws, Op("Where", {"rows", "X", "Y"}, {"Z"}), "condition has shape");
  ExpectThrows(&ws, Op("Where", {"C", "X", "Y"}, {"Z"}, {MakeArgument("broadcast_on_rows", 1)}),
               "each row");
}

TEST(MinMaxOpTest, CombinesAnyNumberOfInputs) {
  Workspace ws;
  Feed<float>(&ws, "A", {3}, {1, 5, NAN});
  Feed<float>(&ws, "B", {3}, {4, 2, 0});
  Feed<float>(&ws, "C", {3}, {3, 3, 3});
  RunOp(&ws, Op("Max", {"A", "B", "C"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {4, 5, NAN});
  RunOp(&ws, Op("Min", {"A", "B", "C"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {1, 2, NAN});
  Feed<float>(&ws, "A", {3}, {2, 1, 3});
  RunOp(&ws, Op("Mean", {"A", "B", "C"}, {"A"}));
  ExpectTensor(ws, "A", {3}, {3, 2, 2});
  RunOp(&ws, Op("Mean", {"B"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {4, 2, 0});
  FeedRandom(&ws, "D", {2}, 1);
  ExpectThrows(&ws, Op("Max", {"A", "D"}, {"Y"}), "different shapes");
}

TEST(MinMaxOpTest, Gradients) {
  Workspace ws;
  Feed<float>(&ws, "A", {4}, {1, 5, 2, 3});
  Feed<float>(&ws, "B", {4}, {4, 2, 1, 9});
  Feed<float>(&ws, "C", {4}, {3, 3, 7, 4});
  for (const char* type : {"Max", "Min", "Mean"}) {
    CheckGradient(&ws, Op(type, {"A", "B", "C"}, {"Y"}), {0, 1, 2});
  }
}

TEST(ScatterWeightedSumOpTest, UpdatesRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<float>(&ws, "half", {1}, {0.5f});
  Feed<float>(&ws, "ten", {1}, {10});
  Feed<int32_t>(&ws, "i", {2}, {2, 0});
  Feed<float>(&ws, "U", {2, 2}, {1, 0, 0, 1});
  RunOp(&ws, Op("ScatterWeightedSum", {"X", "half", "i", "U", "ten"}, {"X"}));
  ExpectTensor(ws, "X", {3, 2}, {0.5f, 11, 3, 4, 12.5f, 3});
  Feed<int64_t>(&ws, "i", {2}, {0, 3});
  ExpectThrows(&ws, Op("ScatterWeightedSum", {"X", "half", "i", "U", "ten"}, {"X"}),
               "out of range");
  Feed<int64_t>(&ws, "i", {1}, {0});
  ExpectThrows(&ws, Op("ScatterWeightedSum", {"X", "half", "i", "U", "ten"}, {"X"}), "must hold");
  ExpectThrows(&ws, Op("ScatterWeightedSum", {"X", "half", "i", "U", "ten"}, {"Z"}), "in place");
}

}  // namespace
}  // namespace caffe2::testing
