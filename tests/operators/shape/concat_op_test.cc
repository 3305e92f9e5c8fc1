#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ConcatOpTest, JoinsAlongAnyAxis) {
  Workspace ws;
  Feed<float>(&ws, "A", {2, 1, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "B", {2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12});
  Feed<float>(&ws, "none", {2, 0, 2}, {});
  for (const int axis : {1, -2}) {
    RunOp(&ws, Op("Concat", {"A", "none", "B"}, {"Y", "info"}, {MakeArgument("axis", axis)}));
    ExpectTensor(ws, "Y", {2, 3, 2}, {1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12});
    EXPECT_EQ(FetchValues<int32_t>(ws, "info"), (std::vector<int32_t>{1, 0, 2}));
  }
  RunOp(&ws, Op("DepthConcat", {"A", "B"}, {"Y", "info"}));  // NCHW: axis 1
  ExpectTensor(ws, "Y", {2, 3, 2}, {1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12});
  EXPECT_EQ(FetchValues<int32_t>(ws, "info"), (std::vector<int32_t>{1, 2}));
  RunOp(&ws, Op("Concat", {"A", "A"}, {"Y", "info"}, {MakeArgument("axis", 0)}));
  ExpectTensor(ws, "Y", {4, 1, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  const auto add_axis = MakeArgument("add_axis", 1);
  RunOp(&ws, Op("Concat", {"A", "A"}, {"Y", "info"}, {MakeArgument("axis", -1), add_axis}));
  ExpectTensor(ws, "Y", {2, 1, 2, 2}, {1, 1, 2, 2, 3, 3, 4, 4});
  EXPECT_EQ(FetchValues<int32_t>(ws, "info"), (std::vector<int32_t>{1, 1}));
  FeedRandom(&ws, "image", {1, 2, 2, 3}, 1);
  RunOp(&ws, Op("Concat", {"image", "image"}, {"Y", "info"},
                {MakeArgument("order", std::string("NHWC"))}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{1, 2, 2, 6}));
  RunOp(&ws, Op("Concat", {"image", "image"}, {"Y", "info"},
                {MakeArgument("order", std::string("NHWC")), add_axis}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{1, 2, 2, 2, 3}));
}

// Rows that several threads copy, and elements that are no plain bytes.
TEST(ConcatOpTest, ManyRows) {
  constexpr int64_t kRows = 5000;
  Workspace ws;
  FeedRandom(&ws, "A", {kRows, 7}, 1);
  FeedRandom(&ws, "B", {kRows, 64}, 2);
  Feed<std::string>(&ws, "texts", {kRows, 1}, std::vector<std::string>(kRows, "a long text: heap"));
  RunOp(&ws, Op("Concat", {"A", "B", "A"}, {"Y", "info"}, {MakeArgument("axis", 1)}));
  const std::vector<float> a = FetchValues<float>(ws, "A"), b = FetchValues<float>(ws, "B");
  std::vector<float> expected;
  for (int64_t i = 0; i < kRows; ++i) {
    for (const auto& [x, run] : {std::pair{&a, 7}, std::pair{&b, 64}, std::pair{&a, 7}}) {
      expected.insert(expected.end(), x->begin() + i * run, x->begin() + (i + 1) * run);
    }
  }
  ExpectTensor(ws, "Y", {kRows, 78}, expected);
  RunOp(&ws, Op("Concat", {"texts", "texts"}, {"Y", "info"}, {MakeArgument("axis", 1)}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"),
            std::vector<std::string>(2 * kRows, "a long text: heap"));
}

TEST(SplitOpTest, RefusesBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 4}, 1);
  FeedRandom(&ws, "long", {3, 4}, 1);
  Feed<int32_t>(&ws, "int", {2, 4}, std::vector<int32_t>(8));
  Feed<int32_t>(&ws, "lengths", {2}, {5, -1});
  const auto axis = [](int value) { return MakeArgument("axis", value); };
  ExpectThrows(&ws, Op("Concat", {"X", "long"}, {"Y", "i"}, {axis(1)}), "cannot be joined");
  ExpectThrows(&ws, Op("Concat", {"X", "int"}, {"Y", "i"}, {axis(1)}), "type");
  ExpectThrows(&ws, Op("Concat", {"X", "X"}, {"Y", "i"}, {axis(2)}), "out of range");
  ExpectThrows(&ws,
               Op("Concat", {"X", "X"}, {"Y", "i"}, {MakeArgument("order", std::string("CHWN"))}),
               "argument order must be NCHW or NHWC, found CHWN");
  ExpectThrows(&ws, Op("Split", {"X"}, {"A", "B", "C"}, {axis(1)}), "equal parts");
  ExpectThrows(&ws, Op("Split", {"X", "lengths"}, {"A", "B"}, {axis(1)}), "cannot have length");
  ExpectThrows(
      &ws, Op("Split", {"X"}, {"A", "B"}, {axis(1), MakeArgument("split", std::vector<int>{1, 2})}),
      "add up");
  ExpectThrows(&ws,
               Op("Split", {"X"}, {"A"}, {axis(1), MakeArgument("split", std::vector<int>{2, 2})}),
               "there must be one length for each of the 1 outputs, found 2");
}

}  // namespace
}  // namespace caffe2::testing
