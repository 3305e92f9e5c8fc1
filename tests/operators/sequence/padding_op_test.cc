#include "tests/operators/op_test.h"
#include "tests/operators/segment/lengths_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(LengthsTest, PaddingIsPutAndTaken) {
  Feed<float>(&ws, "X", {3, 1}, {1, 2, 3});
  Feed<int32_t>(&ws, "n", {2}, {2, 1});
  Feed<float>(&ws, "a", {1}, {-1});
  Feed<float>(&ws, "b", {1}, {-2});
  const std::vector<Argument> widths{MakeArgument("padding_width", 1),
                                     MakeArgument("end_padding_width", 2)};
  RunOp(&ws, Op("AddPadding", {"X", "n", "a", "b"}, {"Y", "m"}, widths), true);
  ExpectTensor(ws, "Y", {9, 1}, {-1, 1, 2, -2, -2, -1, 3, -2, -2});
  ExpectInts("m", {2}, {5, 4});
  RunOp(&ws, Op("RemovePadding", {"Y", "m"}, {"Z", "k"}, widths), true);
  ExpectTensor(ws, "Z", {3, 1}, {1, 2, 3});
  ExpectInts("k", {2}, {2, 1});
  RunOp(&ws, Op("GatherPadding", {"Y", "m"}, {"first", "last"}, widths));
  ExpectTensor(ws, "first", {1}, {-2});
  ExpectTensor(ws, "last", {1}, {-8});
  RunOp(&ws, Op("GatherPadding", {"Y", "m"}, {"all"}, widths));
  ExpectTensor(ws, "all", {1}, {-10});
  Feed<double>(&ws, "wide", {3, 1}, {0.5, 7, 1e300});
  RunOp(&ws, Op("GatherPadding", {"wide"}, {"first", "last"}));
  EXPECT_EQ(FetchValues<double>(ws, "first"), std::vector<double>{0.5});
  EXPECT_EQ(FetchValues<double>(ws, "last"), std::vector<double>{1e300});
  RunOp(&ws, Op("AddPadding", {"X"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {5, 1}, {0, 1, 2, 3, 0});

  CheckGradient(&ws, Op("AddPadding", {"X", "n", "a", "b"}, {"Y", "m"}, widths), {0, 2, 3});
  CheckGradient(&ws, Op("AddPadding", {"X", "n", "a"}, {"Y", "m"}, widths), {0, 2});
  CheckGradient(&ws, Op("AddPadding", {"X"}, {"Y"}), {0});
  FeedRandom(&ws, "X", {8, 2}, 1);
  Feed<int32_t>(&ws, "n", {2}, {3, 5});
  CheckGradient(&ws, Op("RemovePadding", {"X", "n"}, {"Y", "m"}, widths), {0});
  Feed<int32_t>(&ws, "n", {2}, {2, 6});
  ExpectThrows(&ws, Op("RemovePadding", {"X", "n"}, {"Y", "m"}, widths),
               "segment 0 must be at least as long as its padding: its length is 2, the padding 3");
  ExpectThrows(&ws, Op("AddPadding", {"X", "n", "a"}, {"Y", "m"}), "the padding, must have");
}

}  // namespace
}  // namespace caffe2::testing
