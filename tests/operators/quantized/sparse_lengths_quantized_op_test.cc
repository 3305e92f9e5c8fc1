#include "operators/common/element_type.h"
#include "tests/operators/op_test.h"
#include "tests/operators/quantized/rowwise_quantized_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(RowwiseQuantizedTest, SumsAreThoseOfTheFloats) {
  RunOp(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"F"}, {"D"}));
  ExpectSame(Op("GatherFused8BitRowwise", {"F", "i"}, {"A"}), Op("Gather", {"D", "i"}, {"B"}));
  const OperatorDef sum = Op("SparseLengthsSum", {"D", "i", "n"}, {"B"});
  const OperatorDef mean = Op("SparseLengthsMean", {"D", "i", "n"}, {"B"});
  const OperatorDef weighted = Op("SparseLengthsWeightedSum", {"D", "w", "i", "n"}, {"B"});
  ExpectSame(Op("SparseLengthsSumFused8BitRowwise", {"F", "i", "n"}, {"A"}), sum);
  ExpectSame(Op("SparseLengthsMeanFused8BitRowwise", {"F", "i", "n"}, {"A"}), mean);
  ExpectSame(Op("SparseLengthsWeightedSumFused8BitRowwise", {"F", "w", "i", "n"}, {"A"}), weighted);
  ExpectSame(Op("SparseLengthsSum8BitsRowwise", {"Q", "i", "n", "S"}, {"A"}), sum);
  ExpectSame(Op("SparseLengthsMean8BitsRowwise", {"Q", "i", "n", "S"}, {"A"}), mean);
  ExpectSame(Op("SparseLengthsWeightedSum8BitsRowwise", {"Q", "w", "i", "n", "S"}, {"A"}),
             weighted);
  // The weighted mean: the weighted sum over the number of rows.
  RunOp(&ws, Op("SparseLengthsWeightedMean8BitsRowwise", {"Q", "w", "i", "n", "S"}, {"A"}));
  std::vector<float> expected = FetchValues<float>(ws, "B");
  for (int j = 0; j < 3; ++j) expected[j] /= 2, expected[6 + j] /= 3;
  ExpectTensor(ws, "A", {3, 3}, expected, 1e-5f, 1e-5f);
}

// Sums of rows of many columns equal the sums of the dequantized rows.
TEST_F(RowwiseQuantizedTest, SumsOfWideRows) {
  std::vector<int> index;
  for (int i = 0; i < 60; ++i) index.push_back(i * 11 % 30);
  Feed(&ws, "i", {60}, index);
  Feed<int32_t>(&ws, "n", {4}, {20, 0, 1, 39});
  FeedRandom(&ws, "w", {60}, 2);
  for (const int64_t width : {4, 12, 32, 60, 64, 68, 128, 172}) {
    FeedRandom(&ws, "X", {30, width}, 1, -3, 5);
    for (const std::string bits : {"8", "4", "2"}) {
      const std::string type = "Fused" + bits + "BitRowwise";
      RunOp(&ws, Op("FloatTo" + type + "Quantized", {"X"}, {"Q"}));
      RunOp(&ws, Op(type + "QuantizedToFloat", {"Q"}, {"D"}));
      RunOp(&ws, Op("SparseLengthsMean", {"D", "i", "n"}, {"M"}));
      RunOp(&ws, Op("SparseLengthsWeightedSum", {"D", "w", "i", "n"}, {"S"}));
      RunOp(&ws, Op("SparseLengthsMean" + type, {"Q", "i", "n"}, {"A"}));
      RunOp(&ws, Op("SparseLengthsWeightedSum" + type, {"Q", "w", "i", "n"}, {"B"}));
      ExpectTensor(ws, "A", {4, width}, FetchValues<float>(ws, "M"), 1e-5f, 1e-5f);
      ExpectTensor(ws, "B", {4, width}, FetchValues<float>(ws, "S"), 1e-5f, 3e-5f);
    }
  }
}

class NarrowSumTest : public ::testing::TestWithParam<int> {
 protected:
  std::string Name(const std::string& before, const std::string& after) const {
    return before + std::to_string(GetParam()) + after;
  }
  void SetUp() override {
    FeedRandom(&ws_, "X", {4, 8}, 1, -3, 5);
    RunOp(&ws_, Op(Name("FloatToFused", "BitRowwiseQuantized"), {"X"}, {"Q"}));
    RunOp(&ws_, Op(Name("Fused", "BitRowwiseQuantizedToFloat"), {"Q"}, {"D"}));
    Feed<int32_t>(&ws_, "i", {5}, {3, 0, 0, 2, 1});
    Feed<int32_t>(&ws_, "n", {3}, {2, 0, 3});
    FeedRandom(&ws_, "w", {5}, 2);
  }
  void ExpectSame(const OperatorDef& quantized, const OperatorDef& plain) {
    RunOp(&ws_, quantized);
    RunOp(&ws_, plain);
    ExpectTensor(ws_, quantized.output(0), Fetch(ws_, plain.output(0)).sizes(),
                 FetchValues<float>(ws_, plain.output(0)), 1e-5f, 1e-5f);
  }
  Workspace ws_;
};

TEST_P(NarrowSumTest, SumsAreThoseOfTheFloats) {
  ExpectSame(Op(Name("SparseLengthsSumFused", "BitRowwise"), {"Q", "i", "n"}, {"A"}),
             Op("SparseLengthsSum", {"D", "i", "n"}, {"B"}));
  ExpectSame(Op(Name("SparseLengthsMeanFused", "BitRowwise"), {"Q", "i", "n"}, {"A"}),
             Op("SparseLengthsMean", {"D", "i", "n"}, {"B"}));
  ExpectSame(Op(Name("SparseLengthsWeightedSumFused", "BitRowwise"), {"Q", "w", "i", "n"}, {"A"}),
             Op("SparseLengthsWeightedSum", {"D", "w", "i", "n"}, {"B"}));
}

TEST_P(NarrowSumTest, FakeRowsAreTheSameIn8Bits) {
  if (GetParam() == 8) return;  // they are those
  std::vector<float16> half;
  const std::vector<float> x = FetchValues<float>(ws_, "X");
  std::vector<float> widened;
  for (const float value : x) {
    half.push_back(ToFloat16(value));
    widened.push_back(ToFloat(half.back()));
  }
  Feed(&ws_, "H", {4, 8}, half);
  for (const std::string input : {"X", "H"}) {
    const std::string from = input == "X" ? "FloatToFused" : "HalfToFused";
    RunOp(&ws_, Op(Name(from, "BitRowwiseQuantized"), {input}, {"Q"}));
    RunOp(&ws_, Op(Name("Fused", "BitRowwiseQuantizedToFloat"), {"Q"}, {"D"}));
    RunOp(&ws_, Op(Name(from, "BitFakeRowwiseQuantized"), {input}, {"F"}));
    RunOp(&ws_, Op("Fused8BitRowwiseQuantizedToFloat", {"F"}, {"E"}));
    EXPECT_EQ(FetchValues<float>(ws_, "D"), FetchValues<float>(ws_, "E"));
    EXPECT_EQ(FetchValues<uint8_t>(ws_, "F"),
              ReferenceHalfRows(input == "X" ? x : widened, 8, GetParam(), /*fake=*/true));
  }
}

// Rows 0 and 3 were pruned: what is looked up there counts as 0.
TEST_P(NarrowSumTest, PrunedTables) {
  const int64_t stride = Fetch(ws_, "Q").size(1);
  const auto q = FetchValues<uint8_t>(ws_, "Q");
  Feed(&ws_, "P", {2, stride}, std::vector<uint8_t>{q.begin() + stride, q.begin() + 3 * stride});
  Feed<int32_t>(&ws_, "map", {4}, {-1, 0, 1, -1});
  auto d = FetchValues<float>(ws_, "D");
  std::fill_n(d.begin(), 8, 0.f);
  std::fill_n(d.begin() + 24, 8, 0.f);
  Feed(&ws_, "D", {4, 8}, d);
  const OperatorDef sum = Op("SparseLengthsSum", {"D", "i", "n"}, {"B"});
  const OperatorDef weighted = Op("SparseLengthsWeightedSum", {"D", "w", "i", "n"}, {"B"});
  ExpectSame(Op(Name("SparseLengthsSum", "BitRowwiseSparse"), {"P", "i", "n", "map"}, {"A"}), sum);
  ExpectSame(Op(Name("SparseLengthsMean", "BitRowwiseSparse"), {"P", "i", "n", "map"}, {"A"}),
             Op("SparseLengthsMean", {"D", "i", "n"}, {"B"}));
  ExpectSame(
      Op(Name("SparseLengthsWeightedSum", "BitRowwiseSparse"), {"P", "w", "i", "n", "map"}, {"A"}),
      weighted);
  // The same by leaving the indices out.
  RunOp(&ws_, Op("SparseLengthsSumSparseLookup", {"i", "n", "map", "w"}, {"j", "m", "v"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws_, "j"), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(FetchValues<int32_t>(ws_, "m"), (std::vector<int32_t>{0, 0, 2}));
  const auto w = FetchValues<float>(ws_, "w");
  ExpectTensor(ws_, "v", {2}, {w[3], w[4]}, 0, 0);
  ExpectSame(Op(Name("SparseLengthsWeightedSumFused", "BitRowwise"), {"P", "v", "j", "m"}, {"A"}),
             weighted);
  // Nothing was pruned.
  Feed<int32_t>(&ws_, "none", {1}, {0});
  RunOp(&ws_, Op(Name("SparseLengthsSum", "BitRowwiseSparse"), {"Q", "i", "n", "none"}, {"A"}));
  RunOp(&ws_, Op(Name("SparseLengthsSumFused", "BitRowwise"), {"Q", "i", "n"}, {"B"}));
  EXPECT_EQ(FetchValues<float>(ws_, "A"), FetchValues<float>(ws_, "B"));
  Feed<int32_t>(&ws_, "short", {3}, {-1, 0, 1});
  ExpectThrows(&ws_,
               Op(Name("SparseLengthsSum", "BitRowwiseSparse"), {"P", "i", "n", "short"}, {"A"}),
               "index 3");
  Feed<int32_t>(&ws_, "far", {4}, {-1, 0, 2, -1});
  ExpectThrows(&ws_,
               Op(Name("SparseLengthsSum", "BitRowwiseSparse"), {"P", "i", "n", "far"}, {"A"}),
               "index 2");
}

INSTANTIATE_TEST_SUITE_P(Bits, NarrowSumTest, ::testing::Values(8, 4, 2));

}  // namespace
}  // namespace caffe2::testing
