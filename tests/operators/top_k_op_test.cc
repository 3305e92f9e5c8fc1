#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::vector<Argument> TopKArgs(int k, int axis = -1) {
  return {MakeArgument<int>("k", k), MakeArgument<int>("axis", axis)};
}

TEST(TopKTest, SortsAlongTheLastAxis) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 4}, {1, 3, 2, 3, -1, -4, -2, -3});
  RunOp(&ws, Op("TopK", {"X"}, {"V", "I", "F"}, TopKArgs(3)));
  ExpectTensor(ws, "V", {2, 3}, {3, 3, 2, -1, -2, -3});
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 3, 2, 0, 2, 3}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "F"), (std::vector<int64_t>{1, 3, 2, 4, 6, 7}));
}

TEST(TopKTest, SortsAlongAnInnerAxis) {
  Workspace ws;
  Feed<int>(&ws, "X", {1, 3, 2}, {1, 6, 5, 2, 3, 4});
  RunOp(&ws, Op("TopK", {"X"}, {"V", "I", "F"}, TopKArgs(2, 1)));
  EXPECT_EQ(FetchValues<int>(ws, "V"), (std::vector<int>{5, 6, 3, 4}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 0, 2, 2}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "F"), (std::vector<int64_t>{2, 1, 4, 5}));
}

TEST(TopKTest, FillsUpShortAxesAndOrdersNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {1, NAN});
  RunOp(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(3)));
  ExpectTensor(ws, "V", {3}, {NAN, 1, 0});
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 0, -1}));
}

TEST(TopKTest, GradientIsNumericOne) {
  Workspace ws;
  std::vector<float> x;  // far apart, so that a step changes no order
  for (int i = 0; i < 24; ++i) x.push_back(static_cast<float>(i * 7 % 24));
  Feed(&ws, "X", {2, 4, 3}, x);
  CheckGradient(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(2)), {0});
  CheckGradient(&ws, Op("TopK", {"X"}, {"V", "I", "F"}, TopKArgs(3, 1)), {0});
  CheckGradient(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(5, 1)), {0});
}

TEST(TopKTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  ExpectThrows(&ws, Op("TopK", {"X"}, {"V", "I"}), "k");
  ExpectThrows(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(0)), "argument k");
  ExpectThrows(&ws, Op("TopK", {"X"}, {"V", "I"}, TopKArgs(1, 2)), "axis 2");
  Feed<float>(&ws, "dV", {2, 1}, {1, 1});
  Feed<int64_t>(&ws, "I", {2, 1}, {0, 3});
  ExpectThrows(&ws, Op("TopKGradient", {"dV", "I", "X"}, {"dX"}, TopKArgs(1)), "index 3");
}

TEST(ArgTest, FindsTheFirstExtreme) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {1, 5, 5, 2, 0, 0});
  RunOp(&ws, Op("ArgMax", {"X"}, {"I"}));
  EXPECT_EQ(Fetch(ws, "I").sizes(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{1, 0}));
  RunOp(&ws, Op("ArgMin", {"X"}, {"I"},
                {MakeArgument<int>("axis", 0), MakeArgument<int>("keepdims", 0)}));
  EXPECT_EQ(Fetch(ws, "I").sizes(), (std::vector<int64_t>{3}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (std::vector<int64_t>{0, 1, 1}));
  Feed<int64_t>(&ws, "L", {3}, {-4, -9, 8});
  RunOp(&ws, Op("ArgMin", {"L"}, {"I"}, {MakeArgument<int>("keepdims", 0)}));
  EXPECT_EQ(Fetch(ws, "I").dim(), 0);
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), std::vector<int64_t>{1});
}

TEST(ArgTest, RejectsBadInput) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 0}, {});
  ExpectThrows(&ws, Op("ArgMax", {"X"}, {"I"}), "[2, 0] is empty");
  ExpectThrows(&ws, Op("ArgMax", {"X"}, {"I"}, {MakeArgument<int>("axis", 5)}), "axis 5");
}

}  // namespace
}  // namespace caffe2::testing
