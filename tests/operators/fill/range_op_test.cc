#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(RangeOpTest, Counts) {
  Workspace ws;
  Feed<int32_t>(&ws, "one", {1}, {1});
  Feed<int32_t>(&ws, "five", {}, {5});
  Feed<int32_t>(&ws, "minus", {1}, {-2});
  Feed<int32_t>(&ws, "zero", {1}, {0});
  RunOp(&ws, Op("Range", {"five"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{0, 1, 2, 3, 4}));
  RunOp(&ws, Op("Range", {"one", "five"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{1, 2, 3, 4}));
  RunOp(&ws, Op("Range", {"five", "zero", "minus"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{5, 3, 1}));
  RunOp(&ws, Op("Range", {"five", "one"}, {"Y"}), true);
  EXPECT_EQ(Fetch(ws, "Y").numel(), 0);
  ExpectThrows(&ws, Op("Range", {"one", "five", "zero"}, {"Y"}), "Step size cannot be 0");
  // The whole range is wider than int32.
  Feed<int32_t>(&ws, "low", {1}, {-2000000000});
  Feed<int32_t>(&ws, "high", {1}, {2000000000});
  Feed<int32_t>(&ws, "wide", {1}, {1500000000});
  RunOp(&ws, Op("Range", {"low", "high", "wide"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"),
            (std::vector<int32_t>{-2000000000, -500000000, 1000000000}));
  Feed<double>(&ws, "huge", {1}, {1e300});
  ExpectThrows(&ws, Op("Range", {"huge"}, {"Y"}), "too long");

  RunOp(&ws, Op("RangeFill", {}, {"Y"}, {MakeArgument("shape", std::vector<int64_t>{2, 2})}));
  ExpectTensor(ws, "Y", {2, 2}, {0, 1, 2, 3});
  Feed<int32_t>(&ws, "lengths", {3}, {2, 0, 3});
  RunOp(&ws, Op("LengthsRangeFill", {"lengths"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{0, 1, 0, 1, 2}));
  Feed<int32_t>(&ws, "lengths", {1}, {-1});
  ExpectThrows(&ws, Op("LengthsRangeFill", {"lengths"}, {"Y"}), "negative");
}

}  // namespace
}  // namespace caffe2::testing
