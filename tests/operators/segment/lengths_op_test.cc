// Lengths, ranges, padding and packing of segments; masks.
#include <cmath>
#include <limits>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Ints = std::vector<int32_t>;
using Dims = std::vector<int64_t>;

class LengthsTest : public ::testing::Test {
 protected:
  void SetUp() override { Feed<int32_t>(&ws, "lengths", {4}, {1, 3, 0, 2}); }
  void ExpectInts(const std::string& name, const Dims& dims, const Ints& values) {
    EXPECT_EQ(Fetch(ws, name).sizes(), dims) << name;
    EXPECT_EQ(FetchValues<int32_t>(ws, name), values) << name;
  }
  Workspace ws;
};

TEST_F(LengthsTest, BecomeIdsAndRangesAndBack) {
  RunOp(&ws, Op("LengthsToSegmentIds", {"lengths"}, {"ids"}), true);
  ExpectInts("ids", {6}, {0, 1, 1, 1, 3, 3});
  RunOp(&ws, Op("SegmentIdsToLengths", {"ids"}, {"Y"}), true);
  ExpectInts("Y", {4}, {1, 3, 0, 2});
  RunOp(&ws, Op("SegmentIdsToRanges", {"ids"}, {"Y"}), true);
  ExpectInts("Y", {4, 2}, {0, 1, 1, 3, 4, 0, 4, 2});
  RunOp(&ws, Op("LengthsToRanges", {"lengths"}, {"Y"}));
  ExpectInts("Y", {4, 2}, {0, 1, 1, 3, 4, 0, 4, 2});
  FeedRandom(&ws, "data", {6, 2}, 1);
  RunOp(&ws, Op("SegmentIdsToLengths", {"ids", "data"}, {"Y"}), true);
  ExpectInts("Y", {6}, {1, 3, 0, 2, 0, 0});
  Feed<int64_t>(&ws, "none", {0}, {});
  RunOp(&ws, Op("SegmentIdsToLengths", {"none"}, {"Y"}), true);
  ExpectInts("Y", {0}, {});
  RunOp(&ws, Op("LengthsToSegmentIds", {"none"}, {"Y"}), true);
  ExpectInts("Y", {0}, {});
}

TEST_F(LengthsTest, BecomeWeightsAndShapes) {
  RunOp(&ws, Op("LengthsToWeights", {"lengths"}, {"Y"}), true);
  const float third = 1 / std::sqrt(3.f), half = 1 / std::sqrt(2.f);
  ExpectTensor(ws, "Y", {6}, {1, third, third, third, half, half});
  RunOp(&ws, Op("LengthsToWeights", {"lengths"}, {"Y"}, {MakeArgument<float>("power", 1.f)}), true);
  ExpectTensor(ws, "Y", {6}, {1, 1 / 3.f, 1 / 3.f, 1 / 3.f, 0.5f, 0.5f});
  Feed<int64_t>(&ws, "same", {3}, {5, 5, 5});
  RunOp(&ws, Op("LengthsToShape", {"same"}, {"Y"}));
  ExpectInts("Y", {2}, {3, 5});
  ExpectThrows(&ws, Op("LengthsToShape", {"lengths"}, {"Y"}), "not all the same");
}

TEST_F(LengthsTest, TileAndGatherRows) {
  FeedRandom(&ws, "X", {4, 2}, 1);
  const auto x = FetchValues<float>(ws, "X");
  const OperatorDef tile = Op("LengthsTile", {"X", "lengths"}, {"Y"});
  RunOp(&ws, tile, true);
  ExpectTensor(ws, "Y", {6, 2},
               {x[0], x[1], x[2], x[3], x[2], x[3], x[2], x[3], x[6], x[7], x[6], x[7]});
  CheckGradient(&ws, tile, {0});
  Feed<int64_t>(&ws, "take", {3}, {3, 2, 0});
  Feed<float>(&ws, "numbers", {6}, {0, 1, 2, 3, 4, 5});
  RunOp(&ws, Op("LengthsGather", {"numbers", "lengths", "take"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {3}, {4, 5, 0});
  Feed<std::string>(&ws, "items", {6}, {"a", "b", "c", "d", "e", "f"});
  RunOp(&ws, Op("LengthsGather", {"items", "lengths", "take"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (std::vector<std::string>{"e", "f", "a"}));
  ExpectThrows(&ws, Op("LengthsTile", {"items", "lengths"}, {"Y"}), "4 lengths");
  Feed<int64_t>(&ws, "take", {1}, {4});
  ExpectThrows(&ws, Op("LengthsGather", {"items", "lengths", "take"}, {"Y"}), "index 4");
}

TEST_F(LengthsTest, ArePaddedAndSplit) {
  FeedRandom(&ws, "X", {6, 1}, 1);
  const auto x = FetchValues<float>(ws, "X");
  const auto pad = [](int length) {
    return Op("LengthsPad", {"X", "lengths"}, {"Y"},
              {MakeArgument("target_length", length), MakeArgument<float>("padding_value", 9.f)});
  };
  RunOp(&ws, pad(3));
  ExpectTensor(ws, "Y", {12, 1}, {x[0], 9, 9, x[1], x[2], x[3], 9, 9, 9, x[4], x[5], 9});
  ExpectThrows(&ws, pad(2), "length of segment 1");
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

TEST_F(LengthsTest, BecomeOffsets) {
  RunOp(&ws, Op("LengthsToOffsets", {"lengths"}, {"Y"}));
  ExpectInts("Y", {4}, {0, 1, 4, 4});
  RunOp(&ws, Op("LengthsToOffsets", {"lengths"}, {"Y"}, {MakeArgument("include_last_offset", 1)}));
  ExpectInts("Y", {5}, {0, 1, 4, 4, 6});
}

TEST_F(LengthsTest, RejectBadInput) {
  Feed<int32_t>(&ws, "bad", {2}, {2, -1});
  for (const char* type : {"LengthsToSegmentIds", "LengthsToRanges", "LengthsToWeights"}) {
    ExpectThrows(&ws, Op(type, {"bad"}, {"Y"}), "(-1 vs 0): length 1");
  }
  ExpectThrows(&ws, Op("SegmentIdsToLengths", {"bad"}, {"Y"}), "sorted");
  Feed<int64_t>(&ws, "huge", {2}, {1LL << 62, 1LL << 62});
  ExpectThrows(&ws, Op("LengthsToSegmentIds", {"huge"}, {"Y"}), "overflows");
  Feed<int64_t>(&ws, "far", {1}, {1LL << 40});
  ExpectThrows(&ws, Op("SegmentIdsToRanges", {"far"}, {"Y"}), "segment id");
}

TEST_F(LengthsTest, PackAndUnpackSegments) {
  FeedRandom(&ws, "X", {6, 2}, 1);
  const auto x = FetchValues<float>(ws, "X");
  const OperatorDef pack =
      Op("PackSegments", {"lengths", "X"}, {"P", "M"}, {MakeArgument("return_presence_mask", 1)});
  RunOp(&ws, pack, true);
  ExpectTensor(ws, "P", {4, 3, 2}, {x[0], x[1], 0, 0, 0, 0, x[2], x[3], x[4],  x[5],  x[6], x[7],
                                    0,    0,    0, 0, 0, 0, x[8], x[9], x[10], x[11], 0,    0});
  EXPECT_EQ(FetchValues<bool>(ws, "M"), (std::vector<bool>{1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0}));
  RunOp(&ws, Op("UnpackSegments", {"lengths", "P"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {6, 2}, x, 0, 0);
  const auto two = MakeArgument("max_length", 2);
  RunOp(&ws, Op("PackSegments", {"lengths", "X"}, {"P"}, {two, MakeArgument("pad_minf", 1)}), true);
  const float low = -std::numeric_limits<float>::infinity();
  ExpectTensor(
      ws, "P", {4, 2, 2},
      {x[0], x[1], low, low, x[2], x[3], x[4], x[5], low, low, low, low, x[8], x[9], x[10], x[11]});
  RunOp(&ws, Op("UnpackSegments", {"lengths", "P"}, {"Y"}, {two}), true);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Dims{5, 2}));
  Feed<std::string>(&ws, "text", {6}, {"a", "b", "c", "d", "e", "f"});
  RunOp(&ws, Op("PackSegments", {"lengths", "text"}, {"T"}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "T")[5], "d");
  EXPECT_EQ(FetchValues<std::string>(ws, "T")[1], "");
}

TEST_F(LengthsTest, PackedGradientsAreNumericOnes) {
  FeedRandom(&ws, "X", {6, 2}, 1);
  FeedRandom(&ws, "P", {4, 5, 2}, 2);  // longer than any segment
  for (const int length : {2, 5}) {
    const auto most = MakeArgument("max_length", length);
    CheckGradient(&ws, Op("PackSegments", {"lengths", "X"}, {"Y"}, {most}), {1});
  }
  CheckGradient(&ws, Op("PackSegments", {"lengths", "X"}, {"Y"}), {1});
  CheckGradient(&ws, Op("UnpackSegments", {"lengths", "P"}, {"Y"}), {1});
  FeedRandom(&ws, "short", {4, 2, 2}, 2);
  ExpectThrows(&ws, Op("UnpackSegments", {"lengths", "short"}, {"Y"}), "length 3 of segment 1");
  ExpectThrows(&ws, Op("PackSegments", {"lengths", "P"}, {"Y"}), "sum of the lengths");
  ExpectThrows(&ws, Op("PackSegments", {"lengths", "X"}, {"Y"}, {MakeArgument("max_length", 0)}),
               "max_length");
}

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
  ExpectThrows(&ws, Op("RemovePadding", {"X", "n"}, {"Y", "m"}, widths), "length of segment 0");
  ExpectThrows(&ws, Op("AddPadding", {"X", "n", "a"}, {"Y", "m"}), "pad [1]");
}

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
  ExpectThrows(&ws, reverse, "length 4 of sequence 0");
  Feed<int32_t>(&ws, "i", {1}, {3});
  ExpectThrows(&ws, Op("RemoveDataBlocks", {"X", "i"}, {"Y"}), "index 3");

  Feed<float>(&ws, "f", {6}, {1, 2, 3, 4, 5, 6});
  Feed<std::string>(&ws, "s", {6}, {"a", "b", "c", "d", "e", "f"});
  RunOp(&ws, Op("PadEmptySamples", {"lengths", "f", "s"}, {"n", "f2", "s2"}), true);
  ExpectInts("n", {4}, {1, 3, 1, 2});
  ExpectTensor(ws, "f2", {7}, {1, 2, 3, 4, 0, 5, 6});
  EXPECT_EQ(FetchValues<std::string>(ws, "s2")[4], "");
  ExpectThrows(&ws, Op("PadEmptySamples", {"lengths", "X"}, {"n", "Y"}), "add up to 6");
}

TEST(BooleanMaskTest, KeepsRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<bool>(&ws, "M", {3}, std::vector<bool>{true, false, true});
  const OperatorDef op = Op("BooleanMask", {"X", "M"}, {"Y", "i"});
  RunOp(&ws, op, true);
  ExpectTensor(ws, "Y", {2, 2}, {1, 2, 5, 6});
  EXPECT_EQ(FetchValues<int64_t>(ws, "i"), (Dims{0, 2}));
  CheckGradient(&ws, op, {0});
  CheckGradient(&ws, Op("BooleanMask", {"X", "M"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("BooleanMaskGradient", {"M", "X"}, {"dX"}), "rows of the gradient");
  Feed<bool>(&ws, "short", {2}, std::vector<bool>{true, false});
  ExpectThrows(&ws, Op("BooleanMask", {"X", "short"}, {"Y"}), "mask [2]");

  Feed<int64_t>(&ws, "n", {3}, {2, 0, 1});
  RunOp(&ws, Op("BooleanMaskLengths", {"n", "M"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Dims{1, 0, 1}));
  ExpectThrows(&ws, Op("BooleanMaskLengths", {"n", "short"}, {"Y"}), "mask of 2");
}

TEST(BooleanMaskTest, UnmaskPutsTogether) {
  Workspace ws;
  Feed<bool>(&ws, "A", {4}, std::vector<bool>{true, false, true, false});
  Feed<bool>(&ws, "B", {4}, std::vector<bool>{false, true, true, true});
  Feed<float>(&ws, "a", {2}, {1, 2});
  Feed<float>(&ws, "b", {2}, {10, 20});
  const OperatorDef op = Op("BooleanUnmask", {"A", "a", "B", "b"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {4}, {1, 10, 2, 20});
  Feed<float>(&ws, "b", {3}, {10, 20, 30});
  ExpectThrows(&ws, op, "values of mask 1 that were used");
  Feed<float>(&ws, "b", {1}, {10});
  ExpectThrows(&ws, op, "more values");
  ExpectThrows(&ws, Op("BooleanUnmask", {"A", "a"}, {"Y"}), "no mask is true at position 1");
}

TEST(SequenceMaskTest, FillsByMode) {
  Workspace ws;
  const int rows = 3, columns = 4;
  FeedRandom(&ws, "X", {2, rows, columns}, 1);
  Feed<int32_t>(&ws, "n", {rows}, {1, 0, 3});
  Feed<int32_t>(&ws, "all", {2 * rows}, {1, 0, 3, 4, 2, 2});
  const std::vector<int> lengths = FetchValues<int32_t>(ws, "all");
  const auto x = FetchValues<float>(ws, "X");
  const auto check = [&](const std::string& mode, std::vector<std::string> inputs,
                         std::vector<Argument> args, const auto& masked) {
    std::vector<float> expected = x;
    for (int i = 0; i < 2 * rows * columns; ++i) {
      if (masked(i / columns, i % columns)) expected[i] = -5;
    }
    args.push_back(MakeArgument("mode", mode));
    args.push_back(MakeArgument("axis", 2));
    args.push_back(MakeArgument<float>("fill_val", -5.f));
    const OperatorDef op = Op("SequenceMask", inputs, {"Y"}, args);
    RunOp(&ws, op);
    ExpectTensor(ws, "Y", {2, rows, columns}, expected, 0, 0);
    CheckGradient(&ws, op, {0});
  };
  const auto batch = MakeArgument("batch", 0);
  check("sequence", {"X", "all"}, {}, [&](int i, int j) { return j >= lengths[i]; });
  check("sequence", {"X", "n"}, {batch}, [&](int i, int j) { return j >= lengths[i % rows]; });
  check("window", {"X", "all"}, {MakeArgument("radius", 1)},
        [&](int i, int j) { return std::abs(j - lengths[i]) > 1; });
  check("window", {"X", "n"}, {MakeArgument("radius", 1), batch},
        [&](int i, int j) { return std::abs(j - lengths[i % rows]) > 1; });
  check("upper", {"X"}, {batch}, [](int i, int j) { return j > i % rows; });
  check("lower", {"X"}, {batch}, [](int i, int j) { return j < i % rows; });
  check("upperdiag", {"X"}, {}, [](int i, int j) { return j >= i; });
  check("lowerdiag", {"X"}, {batch}, [](int i, int j) { return j <= i % rows; });
  // The same mask for all of the last axis.
  RunOp(&ws, Op("SequenceMask", {"X"}, {"Y"},
                {MakeArgument<std::string>("mode", "upper"), MakeArgument("axis", 1),
                 MakeArgument("repeat_from_axis", 2), MakeArgument<float>("fill_val", 0.f)}));
  std::vector<float> expected = x;
  std::fill_n(expected.begin() + columns, 2 * columns, 0.f);
  std::fill_n(expected.begin() + 5 * columns, columns, 0.f);
  ExpectTensor(ws, "Y", {2, rows, columns}, expected, 0, 0);
}

TEST(SequenceMaskTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1);
  Feed<int32_t>(&ws, "n", {2}, {1, 0});
  const auto mode = [](const char* name) { return MakeArgument<std::string>("mode", name); };
  ExpectThrows(&ws, Op("SequenceMask", {"X"}, {"Y"}, {mode("middle")}), "middle");
  ExpectThrows(&ws, Op("SequenceMask", {"X"}, {"Y"}, {mode("sequence")}), "second input");
  ExpectThrows(&ws, Op("SequenceMask", {"X", "n"}, {"Y"}, {mode("sequence")}), "second input");
  ExpectThrows(&ws, Op("SequenceMask", {"X"}, {"Y"}, {mode("upper"), MakeArgument("batch", 1)}),
               "batch");
}

TEST(SparseToDenseMaskTest, PicksColumns) {
  Workspace ws;
  Feed<int32_t>(&ws, "i", {5}, {7, 2, 9, 2, 2});
  FeedRandom(&ws, "v", {5, 2}, 1);
  Feed<float>(&ws, "d", {2}, {-1, -2});
  Feed<int32_t>(&ws, "n", {3}, {2, 0, 3});
  const auto v = FetchValues<float>(ws, "v");
  const auto mask = MakeArgument("mask", std::vector<int>{2, 7});
  const OperatorDef op = Op("SparseToDenseMask", {"i", "v", "d", "n"}, {"Y", "P"},
                            {mask, MakeArgument("return_presence_mask", 1)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2, 2}, {v[2], v[3], v[0], v[1], -1, -2, -1, -2, v[8], v[9], -1, -2});
  EXPECT_EQ(FetchValues<bool>(ws, "P"), (std::vector<bool>{1, 1, 0, 0, 1, 0}));
  CheckGradient(&ws, op, {1});
  const OperatorDef one = Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"}, {mask});
  RunOp(&ws, one);
  ExpectTensor(ws, "Y", {2, 2}, {v[8], v[9], v[0], v[1]});
  CheckGradient(&ws, one, {1});
  ExpectThrows(&ws, Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"}), "argument mask");
  ExpectThrows(&ws,
               Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"},
                  {MakeArgument("mask", std::vector<int>{2, 2})}),
               "occurs twice");
  Feed<int32_t>(&ws, "i", {5}, {-1, -1, 2, 2, 2});
  ExpectThrows(&ws,
               Op("SparseToDenseMask", {"i", "v", "d"}, {"Y"},
                  {mask, MakeArgument("max_skipped_indices", 1)}),
               "too many negative");
  Feed<float>(&ws, "d", {1}, {0});
  ExpectThrows(&ws, one, "default value");
}

TEST(SparseToDenseMaskTest, AnyTypeOfValues) {
  Workspace ws;
  Feed<int64_t>(&ws, "i", {4}, {7, -3, 2, 7});
  Feed<int64_t>(&ws, "n", {2}, {3, 1});
  const auto mask = MakeArgument("mask", std::vector<int>{2, 7, 5});
  const OperatorDef op = Op("SparseToDenseMask", {"i", "v", "d", "n"}, {"Y"}, {mask});
  Feed<int64_t>(&ws, "v", {4}, {1, 2, 3, int64_t{1} << 40});
  Feed<int64_t>(&ws, "d", {1}, {-1});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"),
            (std::vector<int64_t>{3, 1, -1, -1, int64_t{1} << 40, -1}));
  Feed<uint8_t>(&ws, "v", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Feed<uint8_t>(&ws, "d", {2}, {9, 8});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"),
            (std::vector<uint8_t>{5, 6, 1, 2, 9, 8, 9, 8, 7, 8, 9, 8}));
  Feed<std::string>(&ws, "v", {4}, {"a", "b", "c", "d"});
  Feed<std::string>(&ws, "d", {1}, {"-"});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"),
            (std::vector<std::string>{"c", "a", "-", "-", "d", "-"}));
  const OperatorDef gradient = Op("SparseToDenseMaskGradient", {"i", "dY", "n"}, {"dv"}, {mask});
  Feed<float>(&ws, "dY", {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  RunOp(&ws, gradient);
  ExpectTensor(ws, "dv", {4, 1}, {2, 0, 1, 5}, 0, 0);
  Feed<double>(&ws, "dY", {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  ExpectThrows(&ws, gradient, "float");
  Feed<float>(&ws, "dY", {3, 2, 1}, {1, 2, 3, 4, 5, 6});
  ExpectThrows(&ws, gradient, "gradient [3, 2, 1]");
  Feed<int64_t>(&ws, "n", {2}, {3, 2});
  ExpectThrows(&ws, gradient, "sum of the lengths");
}

TEST(GatherRangesTest, TakesParts) {
  Workspace ws;
  Feed<int32_t>(&ws, "X", {6}, {1, 2, 3, 4, 5, 6});
  Feed<int32_t>(&ws, "R", {2, 2, 2}, {0, 1, 2, 2, 4, 1, 1, 0});
  // What is inferred is the case of ranges that cover all.
  Feed<int32_t>(&ws, "all", {2, 1, 2}, {4, 2, 0, 4});
  RunOp(&ws, Op("GatherRanges", {"X", "all"}, {"Y", "n"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{5, 6, 1, 2, 3, 4}));
  ASSERT_TRUE(ws.RunOperatorOnce(Op("GatherRanges", {"X", "R"}, {"Y", "n"})));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{1, 3, 4, 5}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "n"), (Ints{3, 1}));
  const auto lengths = MakeArgument("lengths", std::vector<int>{1, 2});
  RunOp(&ws, Op("GatherRangesToDense", {"X", "R"}, {"A", "B"}, {lengths}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "A"), (Ints{1, 5}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "B"), (Ints{3, 4, 0, 0}));
  Feed<int64_t>(&ws, "K", {6}, {0, 0, 9, 8, 0, 0});
  RunOp(&ws, Op("GatherRangesToDense", {"X", "R", "K"}, {"A", "B"}, {lengths}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "B"), (Ints{4, 3, 0, 0}));
  // Range 1 has other lengths in half of the examples, and none in the other half.
  const auto gather = [](float mismatched, float empty, int least) {
    return Op("GatherRangesToDense", {"X", "R"}, {"A", "B"},
              {MakeArgument("lengths", std::vector<int>{1, 3}),
               MakeArgument("max_mismatched_ratio", mismatched),
               MakeArgument("max_empty_ratio", empty), MakeArgument("min_observation", least)});
  };
  RunOp(&ws, gather(0.5f, 0.5f, 2));
  EXPECT_EQ(FetchValues<int32_t>(ws, "B"), (Ints{0, 0, 0, 0, 0, 0}));
  RunOp(&ws, gather(0.1f, 1, 10));
  ExpectThrows(&ws, gather(0.4f, 1, 2), "range 1 had elements other");
  ExpectThrows(&ws, gather(1, 0.4f, 2), "range 1 had no elements in 1 of 2 examples");
  // What counts is all the operator has seen.
  const auto often = CreateOperator(gather(0.25f, 1, 4), &ws);
  EXPECT_TRUE(often->Run());
  EXPECT_THROW(often->Run(), EnforceNotMet);
  Feed<int32_t>(&ws, "R", {1, 1, 2}, {5, 2});
  ExpectThrows(&ws, Op("GatherRanges", {"X", "R"}, {"Y", "n"}), "range of 2 from 5");
}

}  // namespace
}  // namespace caffe2::testing
