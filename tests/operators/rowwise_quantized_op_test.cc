#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class RowwiseQuantizedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws, "X", {4, 3}, 1, -3, 5);
    RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"X"}, {"F"}));
    RunOp(&ws, Op("FloatToRowwiseQuantized8Bits", {"X"}, {"Q", "S"}));
    Feed<int32_t>(&ws, "i", {5}, {3, 0, 0, 2, 1});
    Feed<int32_t>(&ws, "n", {3}, {2, 0, 3});
    FeedRandom(&ws, "w", {5}, 2);
  }
  // The result of an operator on quantized data must be that of one on their floats.
  void ExpectSame(const OperatorDef& quantized, const OperatorDef& plain) {
    RunOp(&ws, quantized);
    RunOp(&ws, plain);
    ExpectTensor(ws, quantized.output(0), Fetch(ws, plain.output(0)).sizes(),
                 FetchValues<float>(ws, plain.output(0)), 1e-5f, 1e-5f);
  }
  Workspace ws;
};

TEST_F(RowwiseQuantizedTest, RoundsToLevels) {
  EXPECT_EQ(Fetch(ws, "F").sizes(), (std::vector<int64_t>{4, 11}));
  RunOp(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"F"}, {"D"}));
  RunOp(&ws, Op("Rowwise8BitQuantizedToFloat", {"Q", "S"}, {"E"}));
  EXPECT_EQ(FetchValues<float>(ws, "D"), FetchValues<float>(ws, "E"));
  const auto x = FetchValues<float>(ws, "X"), d = FetchValues<float>(ws, "D"),
             s = FetchValues<float>(ws, "S");
  for (int i = 0; i < 12; ++i) EXPECT_LE(std::abs(x[i] - d[i]), 0.51f * s[i / 3 * 2]) << i;
  Feed<float>(&ws, "same", {1, 2}, {7, 7});
  RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"same"}, {"F"}));
  RunOp(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"F"}, {"D"}));
  ExpectTensor(ws, "D", {1, 2}, {7, 7});
  Feed<float>(&ws, "bad", {1, 2}, {INFINITY, 7});
  ExpectThrows(&ws, Op("FloatToFused8BitRowwiseQuantized", {"bad"}, {"F"}), "inf");
}

TEST_F(RowwiseQuantizedTest, RowsLieAlongTheLastAxis) {
  RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"X"}, {"F"}));
  const auto x = FetchValues<float>(ws, "X");
  const auto f = FetchValues<uint8_t>(ws, "F");
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2, 2, 3}, {3}}) {
    const auto n = static_cast<int64_t>(dims.size() == 1 ? 3 : 12);
    Feed<float>(&ws, "shaped", dims, {x.begin(), x.begin() + n});
    RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"shaped"}, {"G"}));
    RunOp(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"G"}, {"H"}));
    EXPECT_EQ(FetchValues<uint8_t>(ws, "G"),
              (std::vector<uint8_t>{f.begin(), f.begin() + n / 3 * 11}));
    EXPECT_EQ(Fetch(ws, "G").size(static_cast<int>(dims.size()) - 1), 11);
    EXPECT_EQ(Fetch(ws, "H").sizes(), dims);
  }
  ExpectThrows(&ws, Op("GatherFused8BitRowwise", {"G", "i"}, {"A"}), "must be a matrix");
}

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

TEST_F(RowwiseQuantizedTest, RejectsBadInput) {
  Feed<int32_t>(&ws, "i", {5}, {4, 0, 0, 2, 1});
  ExpectThrows(&ws, Op("SparseLengthsSumFused8BitRowwise", {"F", "i", "n"}, {"A"}), "index 4");
  Feed<uint8_t>(&ws, "short", {4, 7}, std::vector<uint8_t>(28));
  ExpectThrows(&ws, Op("Fused8BitRowwiseQuantizedToFloat", {"short"}, {"A"}), "fused row");
  ExpectThrows(&ws, Op("Rowwise8BitQuantizedToFloat", {"Q", "X"}, {"A"}), "N x 2");
  ExpectThrows(&ws, Op("FloatToRowwiseQuantized8Bits", {"Q"}, {"A", "B"}), "uint8");
}

}  // namespace
}  // namespace caffe2::testing
