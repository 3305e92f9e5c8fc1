#include "tests/operators/op_test.h"
#include "tests/operators/segment/lengths_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(LengthsTest, SequencesAreReversedAndShrunk) {
  Feed<float>(&ws, "X", {3, 2}, {1, 10, 2, 20, 3, 30});
  Feed<int32_t>(&ws, "n", {2}, {3, 2});
  const OperatorDef reverse = Op("ReversePackedSegs", {"X", "n"}, {"Y"});
  RunOp(&ws, reverse);
  ExpectTensor(ws, "Y", {3, 2}, {3, 20, 2, 10, 1, 30});
  CheckGradient(&ws, reverse, {0});
  Feed<int32_t>(&ws, "i", {3}, {2, 0, 2});
  RunOp(&ws, Op("RemoveDataBlocks", {"X", "i"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {1, 2}, {2, 20});
  Feed<double>(&ws, "i", {0}, {});  // numpy's type of an empty list
  RunOp(&ws, Op("RemoveDataBlocks", {"X", "i"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {3, 2}, {1, 10, 2, 20, 3, 30});
  Feed<int32_t>(&ws, "n", {2}, {4, 2});
  ExpectThrows(&ws, reverse, "the length of sequence 0 must be from 0 to");
  Feed<int32_t>(&ws, "i", {1}, {3});
  ExpectThrows(&ws, Op("RemoveDataBlocks", {"X", "i"}, {"Y"}), "index 3");

  Feed<float>(&ws, "f", {6}, {1, 2, 3, 4, 5, 6});
  Feed<std::string>(&ws, "s", {6}, {"a", "b", "c", "d", "e", "f"});
  RunOp(&ws, Op("PadEmptySamples", {"lengths", "f", "s"}, {"n", "f2", "s2"}), true);
  ExpectInts("n", {4}, {1, 3, 1, 2});
  ExpectTensor(ws, "f2", {7}, {1, 2, 3, 4, 0, 5, 6});
  EXPECT_EQ(FetchValues<std::string>(ws, "s2"), (Strings{"a", "b", "c", "d", "", "e", "f"}));
  ExpectThrows(&ws, Op("PadEmptySamples", {"lengths", "X"}, {"n", "Y"}),
               "the features must have 6 rows, the sum of the lengths, found float [3, 2]");
}

}  // namespace
}  // namespace caffe2::testing
