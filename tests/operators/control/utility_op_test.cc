// Assert, shared scalars, Mod, Glu, norms, ranking losses, one-hot of batches, partitions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Longs = std::vector<int64_t>;
using Ints = std::vector<int32_t>;

TEST(AssertTest, FailsOnFalse) {
  Workspace ws;
  Feed<bool>(&ws, "B", {2}, std::vector<bool>{true, true});
  RunOp(&ws, Op("Assert", {"B"}, {}));
  Feed<int64_t>(&ws, "I", {3}, {1, 0, 2});
  ExpectThrows(&ws, Op("Assert", {"I"}, {}, {MakeArgument<std::string>("error_msg", "too few")}),
               "element 1 is false: too few");
  Feed<float>(&ws, "F", {1}, {1});
  ExpectThrows(&ws, Op("Assert", {"F"}, {}), "float");
}

TEST(AtomicTest, SharedScalars) {
  Workspace ws;
  RunOp(&ws, Op("CreateMutex", {}, {"mutex"}), true);
  Feed<int32_t>(&ws, "x", {1}, {3});
  Feed<int32_t>(&ws, "step", {1}, {4});
  RunOp(&ws, Op("AtomicFetchAdd", {"mutex", "x", "step"}, {"x", "before"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "x"), Ints{7});
  EXPECT_EQ(FetchValues<int32_t>(ws, "before"), Ints{3});
  Feed<int32_t>(&ws, "two", {2}, {1, 1});
  ExpectThrows(&ws, Op("AtomicFetchAdd", {"mutex", "x", "two"}, {"x", "before"}), "[2]");

  RunOp(&ws, Op("CreateAtomicBool", {}, {"flag"}), true);
  const auto flag = [&ws] {
    RunOp(&ws, Op("CheckAtomicBool", {"flag"}, {"value"}));
    return *Fetch(ws, "value").data<bool>();
  };
  Feed<bool>(&ws, "c", {1}, std::vector<bool>{false});
  RunOp(&ws, Op("ConditionalSetAtomicBool", {"flag", "c"}, {}));
  EXPECT_FALSE(flag());
  Feed<bool>(&ws, "c", {1}, std::vector<bool>{true});
  RunOp(&ws, Op("ConditionalSetAtomicBool", {"flag", "c"}, {}));
  EXPECT_TRUE(flag());
  ExpectThrows(&ws, Op("CheckAtomicBool", {"c"}, {"value"}), "c");
}

TEST(ModTest, TakesTheSignAskedFor) {
  Workspace ws;
  Feed<int64_t>(&ws, "X", {4}, {7, -7, 6, 0});
  RunOp(&ws, Op("Mod", {"X"}, {"Y"}, {MakeArgument("divisor", 3)}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Longs{1, -1, 0, 0}));
  const auto follow = MakeArgument("sign_follow_divisor", 1);
  RunOp(&ws, Op("Mod", {"X"}, {"Y"}, {MakeArgument("divisor", 3), follow}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Longs{1, 2, 0, 0}));
  RunOp(&ws, Op("Mod", {"X"}, {"Y"}, {MakeArgument("divisor", -3), follow}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Longs{-2, -1, 0, 0}));
  Feed<int64_t>(&ws, "least", {1}, {INT64_MIN});
  RunOp(&ws, Op("Mod", {"least"}, {"Y"}, {MakeArgument("divisor", -1)}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), Longs{0});
  ExpectThrows(&ws, Op("Mod", {"X"}, {"Y"}, {MakeArgument("divisor", 0)}), "divisor");
}

TEST(GluTest, GatesTheFirstHalf) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 4, 3}, 1, -2, 2);
  const auto x = FetchValues<float>(ws, "X");
  std::vector<float> expected;
  for (int n = 0; n < 2; ++n) {
    for (int i = 0; i < 6; ++i) {
      const double gate = x[n * 12 + 6 + i];
      expected.push_back(static_cast<float>(x[n * 12 + i] / (1 + std::exp(-gate))));
    }
  }
  RunOp(&ws, Op("Glu", {"X"}, {"Y"}, {MakeArgument("dim", 1)}));
  ExpectTensor(ws, "Y", {2, 2, 3}, expected);
  ExpectThrows(&ws, Op("Glu", {"X"}, {"Y"}), "cannot be halved");
}

TEST(PositionTest, EncodesWaves) {
  Workspace ws;
  Feed<int32_t>(&ws, "p", {2, 1}, {0, 7});
  std::vector<float> expected;
  for (const int p : {0, 7}) {
    for (int i = 0; i < 5; ++i) {
      const double angle = p / std::pow(100., i / 5.);
      expected.push_back(static_cast<float>(2 * (i % 2 == 0 ? std::sin(angle) : std::cos(angle))));
    }
  }
  RunOp(&ws, Op("SinusoidPositionEncoding", {"p"}, {"Y"},
                {MakeArgument("embedding_size", 5), MakeArgument<float>("alpha", 100.f),
                 MakeArgument<float>("amplitude", 2.f)}));
  ExpectTensor(ws, "Y", {2, 1, 5}, expected);
  ExpectThrows(&ws,
               Op("SinusoidPositionEncoding", {"p"}, {"Y"}, {MakeArgument("embedding_size", 0)}),
               "embedding_size");
}

TEST(ReplaceNaNTest, WritesAValue) {
  Workspace ws;
  Feed<float>(&ws, "X", {3}, {1, NAN, INFINITY});
  RunOp(&ws, Op("ReplaceNaN", {"X"}, {"Y"}, {MakeArgument<float>("value", 5.f)}));
  ExpectTensor(ws, "Y", {3}, {1, 5, INFINITY});
}

TEST(ExtendTensorTest, AppendsZeros) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  Feed<int32_t>(&ws, "i", {3}, {1, 3, 0});
  const OperatorDef op = Op("ExtendTensor", {"X", "i"}, {"X"});
  for (int run = 0; run < 2; ++run) {  // the second changes nothing
    RunOp(&ws, op, true);
    ExpectTensor(ws, "X", {4, 2}, {1, 2, 3, 4, 0, 0, 0, 0});
  }
  Feed<int32_t>(&ws, "i", {1}, {-1});
  ExpectThrows(&ws, op, "an index");
}

TEST(NormalizeTest, DividesByNorms) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {3, 4, 0, 0});
  RunOp(&ws, Op("Normalize", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {0.6f, 0.8f, 0, 0});
  RunOp(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 0)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 1, 0, 0});
  Feed<float>(&ws, "X", {2, 2}, {3, -1, 0, 0});
  RunOp(&ws, Op("NormalizeL1", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {0.75f, -0.25f, 0, 0});
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  CheckGradient(&ws, Op("Normalize", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 1)}), {0});
  ExpectThrows(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 3)}), "3");
}

TEST(LpNormTest, SumsPowers) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, -2, 3, -4});
  const auto p = MakeArgument("p", 1);
  const auto average = MakeArgument("average", 1);
  RunOp(&ws, Op("LpNorm", {"X"}, {"Z"}));
  ExpectTensor(ws, "Z", {1}, {30});
  RunOp(&ws, Op("LpNorm", {"X"}, {"Z"}, {p, average}));
  ExpectTensor(ws, "Z", {1}, {2.5f});
  CheckGradient(&ws, Op("LpNorm", {"X"}, {"Z"}, {average}), {0});
  CheckGradient(&ws, Op("LpNorm", {"X"}, {"Z"}, {p}), {0});
  ExpectThrows(&ws, Op("LpNorm", {"X"}, {"Z"}, {MakeArgument("p", 3)}), "1 or 2");
}

TEST(RankingCriterionTest, PenalizesPairs) {
  Workspace ws;
  Feed<float>(&ws, "A", {4}, {1, 0, 2, -1});
  Feed<float>(&ws, "B", {4}, {0.5f, 3, 0, 1});
  Feed<int32_t>(&ws, "Y", {4}, {1, -1, 1, 1});
  const OperatorDef ranking = Op("MarginRankingCriterion", {"A", "B", "Y"}, {"L"});
  RunOp(&ws, ranking);
  ExpectTensor(ws, "L", {4}, {0.5f, 0, 0, 3});
  CheckGradient(&ws, ranking, {0, 1});
  Feed<float>(&ws, "S", {4}, {0.3f, 0.8f, -0.5f, 0.1f});
  Feed<int32_t>(&ws, "Y", {4}, {1, -1, -1, -1});
  const OperatorDef cosine =
      Op("CosineEmbeddingCriterion", {"S", "Y"}, {"L"}, {MakeArgument<float>("margin", 0.2f)});
  RunOp(&ws, cosine);
  ExpectTensor(ws, "L", {4}, {0.7f, 0.6f, 0, 0});
  CheckGradient(&ws, cosine, {0});
  Feed<int32_t>(&ws, "Y", {1}, {1});
  ExpectThrows(&ws, ranking, "input 2 [1]");
  ExpectThrows(&ws, cosine, "input 1 [1]");
}

TEST(BatchOneHotTest, MarksValues) {
  Workspace ws;
  Feed<int32_t>(&ws, "n", {2}, {2, 1});
  Feed<int64_t>(&ws, "i", {3}, {4, 0, 4});
  Feed<int64_t>(&ws, "size", {1}, {5});
  RunOp(&ws, Op("SegmentOneHot", {"n", "i", "size"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {2, 5}, {1, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  Feed<int32_t>(&ws, "X", {2, 2}, {10, 5, 20, 6});
  Feed<int32_t>(&ws, "v", {3}, {10, 20, 6});
  RunOp(&ws, Op("BatchOneHot", {"X", "n", "v"}, {"Y"}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Longs{2, 3}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{1, 0, 0, 0, 1, 1}));
  Feed<float>(&ws, "F", {2, 2}, {0.1f, 5, 2, 1});
  Feed<float>(&ws, "b", {3}, {0.1f, 1, 3});
  RunOp(&ws, Op("BatchBucketOneHot", {"F", "n", "b"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 5}, {1, 0, 0, 0, 1, 0, 0, 1, 1, 0});
  // Three equal boundaries: their value lies between them.
  Feed<float>(&ws, "F1", {4, 1}, {-1, 0, 1, 2});
  Feed<float>(&ws, "b1", {4}, {0, 0, 0, 1});
  Feed<int32_t>(&ws, "n1", {1}, {4});
  RunOp(&ws, Op("BatchBucketOneHot", {"F1", "n1", "b1"}, {"Y"}));
  ExpectTensor(ws, "Y", {4, 5}, {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1});
  Feed<int64_t>(&ws, "size", {1}, {4});
  ExpectThrows(&ws, Op("SegmentOneHot", {"n", "i", "size"}, {"Y"}), "index 4");
  Feed<int32_t>(&ws, "n", {1}, {3});
  ExpectThrows(&ws, Op("BatchOneHot", {"X", "n", "v"}, {"Y"}), "lengths, for X");
  ExpectThrows(&ws, Op("BatchBucketOneHot", {"F", "n", "b"}, {"Y"}), "lengths, for X");
}

TEST(PartitionTest, SplitsAndJoins) {
  Workspace ws;
  Feed<int32_t>(&ws, "k", {5}, {0, 3, 2, 5, -1});
  FeedRandom(&ws, "x", {5, 2}, 1);
  const auto x = FetchValues<float>(ws, "x");
  RunOp(&ws, Op("Partition", {"k", "x"}, {"k0", "x0", "k1", "x1"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k0"), (Ints{0, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), (Ints{3, 5, -1}));
  ExpectTensor(ws, "x0", {2, 2}, {x[0], x[1], x[4], x[5]}, 0, 0);
  RunOp(&ws, Op("GatherByKey", {"k", "x0", "x1"}, {"y"}));
  ExpectTensor(ws, "y", {5, 2}, x, 0, 0);
  RunOp(&ws, Op("Partition", {"k"}, {"k0", "k1"}, {MakeArgument("pack_first_input", 1)}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k0"), (Ints{0, 1}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), (Ints{1, 2, -1}));
  Feed<int32_t>(&ws, "n", {3}, {2, 0, 3});
  RunOp(&ws, Op("LengthsPartition", {"n", "k"}, {"n0", "k0", "n1", "k1"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "n0"), (Ints{1, 0, 1}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "n1"), (Ints{1, 0, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), (Ints{3, 5, -1}));
  ExpectThrows(&ws, Op("Partition", {"k", "x"}, {"a", "b", "c"}), "3 outputs for 2");
  ExpectThrows(&ws, Op("Partition", {"k", "n"}, {"a", "b"}), "does not begin");
  ExpectThrows(&ws, Op("GatherByKey", {"k", "x0", "x0"}, {"y"}), "rows of part 1");
}

TEST(PackRNNSequenceTest, MakesColumns) {
  Workspace ws;
  FeedRandom(&ws, "X", {5, 2}, 1);
  Feed<int32_t>(&ws, "n", {3}, {1, 3, 1});
  const auto x = FetchValues<float>(ws, "X");
  const OperatorDef pack = Op("PackRNNSequence", {"X", "n"}, {"P"});
  RunOp(&ws, pack, true);
  ExpectTensor(
      ws, "P", {3, 3, 2},
      {x[0], x[1], x[2], x[3], x[8], x[9], 0, 0, x[4], x[5], 0, 0, 0, 0, x[6], x[7], 0, 0});
  RunOp(&ws, Op("UnpackRNNSequence", {"P", "n"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {5, 2}, x, 0, 0);
  CheckGradient(&ws, pack, {0});
  CheckGradient(&ws, Op("UnpackRNNSequence", {"P", "n"}, {"Y"}), {0});
  Feed<int32_t>(&ws, "n", {3}, {1, 4, 0});
  ExpectThrows(&ws, Op("UnpackRNNSequence", {"P", "n"}, {"Y"}), "length of sequence 1");
  Feed<int32_t>(&ws, "n", {2}, {1, 3});
  ExpectThrows(&ws, pack, "sum of the lengths");
}

TEST(LengthsTopKTest, SortsSegments) {
  Workspace ws;
  Feed<float>(&ws, "X", {5}, {3, 1, 2, 5, 5});
  Feed<int32_t>(&ws, "n", {3}, {3, 0, 2});
  const OperatorDef op = Op("LengthsTopK", {"X", "n"}, {"Y", "I"}, {MakeArgument("k", 2)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2}, {3, 2, 0, 0, 5, 5});
  EXPECT_EQ(FetchValues<int32_t>(ws, "I"), (Ints{0, 2, -1, -1, 0, 1}));
  Feed<float>(&ws, "dY", {6}, {1, 2, 3, 4, 5, 6});
  RunOp(&ws, Op("LengthsTopKGradient", {"n", "I", "dY"}, {"dX"}, {MakeArgument("k", 2)}), true);
  ExpectTensor(ws, "dX", {5}, {1, 0, 2, 5, 6});
  Feed<float>(&ws, "X", {5}, {3, 1, 2, 5, 4});
  CheckGradient(&ws, op, {0});
  ExpectThrows(&ws, Op("LengthsTopK", {"X", "n"}, {"Y", "I"}, {MakeArgument("k", 0)}), "k");
}

TEST(LengthsTopKTest, LongSegmentsAndNaN) {
  Workspace ws;
  constexpr int kTop = 20;
  const std::vector<int64_t> lengths{700, 3, 0, 40};
  std::vector<float> x = RandomValues(743, 1);
  x[5] = x[699] = std::numeric_limits<float>::quiet_NaN();
  x[3] = x[4];
  Feed(&ws, "X", {743}, x);
  Feed(&ws, "n", {4}, lengths);
  RunOp(&ws, Op("LengthsTopK", {"X", "n"}, {"Y", "I"}, {MakeArgument("k", kTop)}));
  std::vector<float> dx(743);
  const auto index = FetchValues<int32_t>(ws, "I");
  const auto value = FetchValues<float>(ws, "Y");
  int64_t begin = 0;
  for (int s = 0; s < 4; ++s) {
    std::vector<std::pair<float, int>> order;  // NaN as infinity, which is not among the values
    for (int j = 0; j < lengths[s]; ++j) {
      const float v = x[begin + j];
      order.emplace_back(v != v ? -std::numeric_limits<float>::infinity() : -v, j);
    }
    std::sort(order.begin(), order.end());
    for (int i = 0; i < kTop; ++i) {
      const bool there = i < lengths[s];
      EXPECT_EQ(index[s * kTop + i], there ? order[i].second : -1) << s << ", " << i;
      const float expected = there ? x[begin + order[i].second] : 0;
      if (expected == expected) {  // no NaN
        EXPECT_EQ(value[s * kTop + i], expected) << s << ", " << i;
      }
      if (there) dx[begin + order[i].second] = static_cast<float>(s * kTop + i + 1);
    }
    begin += lengths[s];
  }
  std::vector<float> dy(4 * kTop);
  for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i + 1);
  Feed(&ws, "dY", {4, kTop}, dy);
  const OperatorDef gradient =
      Op("LengthsTopKGradient", {"n", "I", "dY"}, {"dX"}, {MakeArgument("k", kTop)});
  RunOp(&ws, gradient, true);
  ExpectTensor(ws, "dX", {743}, dx, 0, 0);

  Feed<int32_t>(&ws, "I", {4, kTop}, std::vector<int32_t>(4 * kTop, 3));
  ExpectThrows(&ws, gradient, "index 3 in segment 1");
  Feed<int64_t>(&ws, "n", {4}, {700, 3, 0, 41});
  const OperatorDef op = Op("LengthsTopK", {"X", "n"}, {"Y", "I"}, {MakeArgument("k", kTop)});
  ExpectThrows(&ws, op, "sum of the lengths");
  Feed<int64_t>(&ws, "n", {4}, {700, -3, 6, 40});
  ExpectThrows(&ws, op, "length 1");
}

TEST(RowMulTest, WeighsRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {1, 2, 3, 4, 5, 6});
  Feed<float>(&ws, "w", {2}, {2, -1});
  RunOp(&ws, Op("RowMul", {"X", "w"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3}, {2, 4, 6, -4, -5, -6});
  CheckGradient(&ws, Op("RowMul", {"X", "w"}, {"Y"}), {0, 1});
  RunOp(&ws, Op("ReduceTailSum", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {6, 15});
  RunOp(&ws, Op("ReduceFrontWeightedSum", {"X", "w"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {-2, -1, 0});
  CheckGradient(&ws, Op("ReduceFrontWeightedSum", {"X", "w"}, {"Y"}), {0});
  Feed<float>(&ws, "w", {3}, {1, 1, 1});
  ExpectThrows(&ws, Op("RowMul", {"X", "w"}, {"Y"}), "numbers [3]");
  ExpectThrows(&ws, Op("ReduceFrontWeightedSum", {"X", "w"}, {"Y"}), "numbers [3]");
}

TEST(Im2ColTest, MakesColumnsOfWindows) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  RunOp(&ws, Op("Im2Col", {"X"}, {"Y"}, {MakeArgument("kernel", 2)}));
  ExpectTensor(ws, "Y", {1, 4, 1, 2}, {1, 2, 2, 3, 4, 5, 5, 6});
  RunOp(&ws, Op("Col2Im", {"Y", "X"}, {"Z"}, {MakeArgument("kernel", 2)}));
  ExpectTensor(ws, "Z", {1, 1, 2, 3}, {1, 4, 3, 4, 10, 6});
  for (const char* order : {"NCHW", "NHWC"}) {
    const std::vector<Argument> args{MakeArgument("kernel", 3), MakeArgument("stride", 2),
                                     MakeArgument("pad", 1), MakeArgument("dilation", 2),
                                     MakeArgument<std::string>("order", order)};
    FeedRandom(&ws, "X", {2, 5, 6, 3}, 1);
    CheckGradient(&ws, Op("Im2Col", {"X"}, {"Y"}, args), {0});
    CheckGradient(&ws, Op("Col2Im", {"Y", "X"}, {"Z"}, args), {0});
  }
  // The product of kernel and columns is the convolution.
  FeedRandom(&ws, "X", {1, 2, 4, 4}, 2);
  FeedRandom(&ws, "W", {3, 2, 3, 3}, 3);
  FeedRandom(&ws, "W2", {3, 18}, 3);
  RunOp(&ws, Op("Conv", {"X", "W"}, {"C"}, {MakeArgument("kernel", 3)}));
  RunOp(&ws, Op("Im2Col", {"X"}, {"Y"}, {MakeArgument("kernel", 3)}));
  RunOp(&ws, Op("Reshape", {"Y"}, {"Y", "old"}, {MakeArgument("shape", Longs{18, 4})}));
  RunOp(&ws, Op("MatMul", {"W2", "Y"}, {"M"}));
  const auto expected = FetchValues<float>(ws, "C"), actual = FetchValues<float>(ws, "M");
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5f);
  ExpectThrows(&ws, Op("Col2Im", {"W", "X"}, {"Z"}, {MakeArgument("kernel", 3)}), "elements of");
}

}  // namespace
}  // namespace caffe2::testing
