#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ReshapeOpTest, Shapes) {
  using Shape = std::vector<int64_t>;
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{6, 4}, {6, 4}},        {{-1}, {24}},          {{0, -1}, {2, 12}}, {{0, 0, 4}, {2, 3, 4}},
      {{4, -1, 3}, {4, 2, 3}}, {{1, 0, 8}, {1, 3, 8}}};
  for (const auto& [wanted, expected] : cases) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, 3, 4}, 1);
    const auto values = FetchValues<float>(ws, "X");
    RunOp(&ws, Op("Reshape", {"X"}, {"Y", "old"}, {MakeArgument("shape", wanted)}));
    ExpectTensor(ws, "Y", expected, values);
    EXPECT_EQ(FetchValues<int64_t>(ws, "old"), (Shape{2, 3, 4}));
    Feed<int64_t>(&ws, "shape", {static_cast<int64_t>(wanted.size())}, wanted);
    RunOp(&ws, Op("Reshape", {"X", "shape"}, {"X", "old"}));
    ExpectTensor(ws, "X", expected, values);
    EXPECT_EQ(FetchValues<int64_t>(ws, "old"), (Shape{2, 3, 4}));
  }
}

TEST(ReshapeOpTest, EmptyTensorsTakeZerosAsTheyAre) {
  using Shape = std::vector<int64_t>;
  struct Case {
    Shape old, wanted, expected;
  };
  const std::vector<Case> cases = {{{0, 0}, {0, 0, 0}, {0, 0, 0}},
                                   {{2, 0}, {-1, 0}, {0, 0}},
                                   {{0}, {1, -1}, {1, 0}},
                                   {{1, 0}, {0}, {0}},
                                   {{0}, {0, -1}, {0, 0}}};
  for (const auto& [old, wanted, expected] : cases) {
    Workspace ws;
    Feed<float>(&ws, "X", old, {});
    RunOp(&ws, Op("Reshape", {"X"}, {"Y", "old"}, {MakeArgument("shape", wanted)}));
    ExpectTensor(ws, "Y", expected, {});
  }
  Workspace ws;
  Feed<float>(&ws, "X", {0, 3}, {});
  ExpectThrows(&ws, Op("Reshape", {"X"}, {"Y", "old"}, {MakeArgument("shape", Shape{2, 3})}),
               "cannot reshape");
}

TEST(ReshapeOpTest, GradientAndErrors) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  const auto reshape = [](std::vector<int64_t> shape) {
    return Op("Reshape", {"X"}, {"Y", "old"}, {MakeArgument("shape", shape)});
  };
  CheckGradient(&ws, reshape({3, -1}), {0});
  ExpectThrows(&ws, reshape({4, -1}), "cannot reshape");
  ExpectThrows(&ws, reshape({7}), "cannot reshape");
  ExpectThrows(&ws, reshape({-1, -1}), "more than one");
  ExpectThrows(&ws, reshape({-2, 3}), "negative");
  ExpectThrows(&ws, reshape({2, 3, 0}), "does not have");
  ExpectThrows(&ws, Op("Reshape", {"X"}, {"Y", "old"}), "neither");
  Feed<float>(&ws, "shape", {1}, {6});
  ExpectThrows(&ws, Op("Reshape", {"X", "shape"}, {"Y", "old"}),
               "new_shape must be int32 or int64, not float");
}

}  // namespace
}  // namespace caffe2::testing
