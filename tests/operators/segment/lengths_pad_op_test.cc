#include "tests/operators/op_test.h"
#include "tests/operators/segment/lengths_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(LengthsTest, ArePaddedAndSplit) {
  FeedRandom(&ws, "X", {6, 1}, 1);
  const auto x = FetchValues<float>(ws, "X");
  const auto pad = [](int length) {
    return Op("LengthsPad", {"X", "lengths"}, {"Y"},
              {MakeArgument("target_length", length), MakeArgument<float>("padding_value", 9.f)});
  };
  RunOp(&ws, pad(3));
  ExpectTensor(ws, "Y", {12, 1}, {x[0], 9, 9, x[1], x[2], x[3], 9, 9, 9, x[4], x[5], 9});
  ExpectThrows(&ws, pad(2), "the length of segment 1 (");
  RunOp(&ws, Op("LengthsSplit", {"lengths"}, {"Y"}, {MakeArgument("n_split", 2)}), true);
  ExpectInts("Y", {8}, {1, 0, 2, 1, 0, 0, 1, 1});
  Feed<int32_t>(&ws, "three", {1}, {3});
  Feed<int32_t>(&ws, "long", {3}, {9, 4, 5});
  RunOp(&ws, Op("LengthsSplit", {"long", "three"}, {"Y"}), true);
  ExpectInts("Y", {9}, {3, 3, 3, 2, 1, 1, 2, 2, 1});
  RunOp(&ws, Op("LengthsSplit", {"long", "three"}, {"Y"}, {MakeArgument("n_split", 2)}), true);
  EXPECT_EQ(Fetch(ws, "Y").numel(), 9);  // the input counts
  ExpectThrows(&ws, Op("LengthsSplit", {"long"}, {"Y"}), "argument n_split");
}

}  // namespace
}  // namespace caffe2::testing
