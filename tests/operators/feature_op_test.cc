// What prepares features: BatchBoxCox, Percentile, PiecewiseLinearTransform, SquareRootDivide,
// BernoulliJSD, WeightedSample, lists of ids, BatchSparseToDense.
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;

TEST(BatchBoxCoxTest, TransformsColumns) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {1, 2, 3, -9, 5, 6});
  Feed<float>(&ws, "l1", {3}, {0, 0.5f, -2});
  Feed<float>(&ws, "l2", {3}, {1, 0.25f, 0});
  RunOp(&ws, Op("BatchBoxCox", {"X", "l1", "l2"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3},
               {std::log(2.f), 2 * (std::sqrt(2.25f) - 1), (1 - 1 / 9.f) / 2, std::log(1e-6f),
                2 * (std::sqrt(5.25f) - 1), (1 - 1 / 36.f) / 2});
  Feed<float>(&ws, "l2", {2}, {1, 0});
  ExpectThrows(&ws, Op("BatchBoxCox", {"X", "l1", "l2"}, {"Y"}), "lambda2 [2]");
}

TEST(PercentileTest, InterpolatesBetweenPoints) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {3, 2, 5, 6, 7, 8});
  Feed<float>(&ws, "map", {6, 2}, {1, 0.1f, 4, 0.7f, 4.5f, 0.8f, 6, 0.5f, 8, 0.9f, 8, 0.6f});
  Feed<int32_t>(&ws, "lengths", {3}, {3, 2, 1});
  const OperatorDef op = Op("Percentile", {"X", "map", "lengths"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {2, 3}, {0.5f, 0, 0, 1, 0.7f, 0.6f});
  Feed<int32_t>(&ws, "lengths", {3}, {3, 3, 0});
  ExpectThrows(&ws, op, "points of feature 2");
  Feed<int32_t>(&ws, "lengths", {2}, {3, 3});
  ExpectThrows(&ws, op, "lengths, for original_values");
  Feed<int32_t>(&ws, "lengths", {3}, {4, 1, 1});
  Feed<float>(&ws, "map", {6, 2}, {1, 0, 4, 0, 3, 0, 6, 0, 8, 0, 8, 0});
  ExpectThrows(&ws, op, "sorted");
}

TEST(PiecewiseLinearTransformTest, IsConstantOutsideOfItsBounds) {
  Workspace ws;
  // Column 0: 2x on [0, 1], then 3 - x up to 2. Column 1: -x on [1, 2], then x up to 4.
  const Floats bounds{0, 1, 2, 1, 2, 4}, slopes{2, -1, -1, 1}, intercepts{0, 3, 0, 0};
  const std::vector<Argument> args{MakeArgument("bounds", bounds), MakeArgument("slopes", slopes),
                                   MakeArgument("intercepts", intercepts)};
  Feed<float>(&ws, "X", {3, 2}, {-1, 0, 0.5f, 1.5f, 9, 3});
  const Floats expected{0, -1, 1, -1.5f, 1, 3};
  RunOp(&ws, Op("PiecewiseLinearTransform", {"X"}, {"Y"}, args));
  ExpectTensor(ws, "Y", {3, 2}, expected);
  Feed(&ws, "b", {6}, bounds);
  Feed(&ws, "s", {4}, slopes);
  Feed(&ws, "i", {4}, intercepts);
  RunOp(&ws, Op("PiecewiseLinearTransform", {"X", "b", "s", "i"}, {"Y"}));
  ExpectTensor(ws, "Y", {3, 2}, expected);

  Feed<float>(&ws, "b", {2}, {0, 1});
  Feed<float>(&ws, "s", {1}, {0.5f});
  Feed<float>(&ws, "i", {1}, {0.1f});
  const OperatorDef binary =
      Op("PiecewiseLinearTransform", {"X", "b", "s", "i"}, {"Y"}, {MakeArgument("binary", 1)});
  Feed<float>(&ws, "X", {1, 2}, {0.2f, 0.8f});
  RunOp(&ws, binary);
  ExpectTensor(ws, "Y", {1, 2}, {0.5f, 0.5f});
  Feed<float>(&ws, "X", {2}, {0, 0.8f});
  RunOp(&ws, binary);
  ExpectTensor(ws, "Y", {2}, {0.1f, 0.5f});
  Feed<float>(&ws, "X", {1, 3}, {0, 0, 0});
  ExpectThrows(&ws, binary, "one or two columns");
  ExpectThrows(&ws, Op("PiecewiseLinearTransform", {"X"}, {"Y"}, args), "for 3 functions");
  ExpectThrows(&ws, Op("PiecewiseLinearTransform", {"X"}, {"Y"}, {args[0]}), "together");
  Feed<float>(&ws, "b", {2}, {1, 0});
  Feed<float>(&ws, "X", {1, 2}, {0, 0});
  ExpectThrows(&ws, binary, "sorted");
}

TEST(SquareRootDivideTest, DividesRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<int32_t>(&ws, "S", {3}, {4, 0, 9});
  const OperatorDef op = Op("SquareRootDivide", {"X", "S"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2}, {0.5f, 1, 3, 4, 5 / 3.f, 2});
  CheckGradient(&ws, op, {0});
  Feed<float>(&ws, "S", {2}, {4, 1});
  ExpectThrows(&ws, op, "scale [2]");
}

TEST(BernoulliJSDTest, IsZeroForEqualOnes) {
  Workspace ws;
  const Floats p{0.3f, 0.5f, 0.9f, 0}, q{0.3f, 0.1f, 0.2f, 1};
  Feed(&ws, "P", {4}, p);
  Feed(&ws, "Q", {4}, q);
  const auto entropy = [](double x) {
    return x == 0 || x == 1 ? 0 : -x * std::log(x) - (1 - x) * std::log(1 - x);
  };
  Floats expected;
  for (int i = 0; i < 4; ++i) {
    expected.push_back(static_cast<float>(entropy((double{p[i]} + q[i]) / 2) -
                                          (entropy(p[i]) + entropy(q[i])) / 2));
  }
  RunOp(&ws, Op("BernoulliJSD", {"P", "Q"}, {"L"}));
  ExpectTensor(ws, "L", {4}, expected);
  EXPECT_EQ(FetchValues<float>(ws, "L")[0], 0);
  FeedRandom(&ws, "P", {5}, 1, 0.2f, 0.8f);
  FeedRandom(&ws, "Q", {5}, 2, 0.2f, 0.8f);
  CheckGradient(&ws, Op("BernoulliJSD", {"P", "Q"}, {"L"}), {0});
  Feed<float>(&ws, "Q", {2}, {0, 1});
  ExpectThrows(&ws, Op("BernoulliJSD", {"P", "Q"}, {"L"}), "probabilities [2]");
}

TEST(WeightedSampleTest, DrawsInProportionToWeights) {
  Workspace ws;
  constexpr int kRows = 4000;
  Floats weights, values;
  for (int i = 0; i < kRows; ++i) {
    weights.insert(weights.end(), {1, 0, 3, 0});
    for (int j = 0; j < 4; ++j) values.push_back(static_cast<float>(10 * i + j));
  }
  Feed(&ws, "W", {kRows, 4}, weights);
  Feed(&ws, "V", {kRows, 4}, values);
  OperatorDef op = Op("WeightedSample", {"W", "V"}, {"I", "S"});
  op.mutable_device_option()->set_random_seed(3);
  RunOp(&ws, op);
  const auto index = FetchValues<int32_t>(ws, "I");
  const auto sample = FetchValues<float>(ws, "S");
  int count[4] = {};
  for (int i = 0; i < kRows; ++i) {
    ++count[index[i]];
    EXPECT_EQ(sample[i], static_cast<float>(10 * i + index[i]));
  }
  EXPECT_EQ(count[1] + count[3], 0);
  EXPECT_NEAR(count[2], 0.75 * kRows, 150);  // more than 5 standard deviations
  Feed<float>(&ws, "W", {2, 0}, {});
  RunOp(&ws, Op("WeightedSample", {"W"}, {"I"}));
  EXPECT_EQ(Fetch(ws, "I").sizes(), Longs{0});
  Feed<float>(&ws, "W", {1, 2}, {0, 0});
  ExpectThrows(&ws, Op("WeightedSample", {"W"}, {"I"}), "sum of the weights of row 0");
  Feed<float>(&ws, "W", {1, 2}, {2, -1});
  ExpectThrows(&ws, Op("WeightedSample", {"W"}, {"I"}), "weight 1 of row 0 is -1");
}

TEST(IdListTest, MergesSplitsAndHashes) {
  Workspace ws;
  Feed<int32_t>(&ws, "l0", {3}, {3, 0, 4});
  Feed<int64_t>(&ws, "v0", {7}, {1, 5, 6, 2, 4, 5, 6});
  Feed<int32_t>(&ws, "l1", {3}, {3, 2, 1});
  Feed<int64_t>(&ws, "v1", {6}, {5, 8, 9, 14, 9, 5});
  const OperatorDef merge = Op("MergeIdLists", {"l0", "v0", "l1", "v1"}, {"l", "v"});
  RunOp(&ws, merge, true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "l"), (Ints{5, 2, 4}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "v"), (Longs{1, 5, 6, 8, 9, 9, 14, 2, 4, 5, 6}));
  Feed<int32_t>(&ws, "l1", {2}, {3, 3});
  ExpectThrows(&ws, merge, "lengths in input 2");

  Feed<int64_t>(&ws, "keys", {5}, {2, 0, 2, 0, 0});
  const auto limit = MakeArgument("categorical_limit", 3);
  RunOp(&ws, Op("KeySplit", {"keys"}, {"k0", "k1", "k2"}, {limit}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k0"), (Ints{1, 3, 4}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "k1"), Ints{});
  EXPECT_EQ(FetchValues<int32_t>(ws, "k2"), (Ints{0, 2}));
  ExpectThrows(&ws, Op("KeySplit", {"keys"}, {"k0", "k1"}, {limit}), "categorical_limit");

  // hash = 65537 * hash + byte, from the lowest byte, in the type of the ids.
  Feed<int32_t>(&ws, "ids", {2}, {1, -1});
  RunOp(&ws, Op("IndexHash", {"ids"}, {"h"}, {MakeArgument("modulo", 1000)}));
  uint32_t one = 1, minus = static_cast<uint32_t>(-1);
  for (int i = 1; i < 4; ++i) {
    one *= 65537u;
    minus = minus * 65537u - 1;
  }
  const auto modulo = [](uint32_t hash) {
    const int64_t rest = static_cast<int32_t>(hash) % 1000;
    return static_cast<int32_t>(rest < 0 ? rest + 1000 : rest);
  };
  EXPECT_EQ(FetchValues<int32_t>(ws, "h"), (Ints{modulo(one), modulo(minus)}));
  Feed<int64_t>(&ws, "wide", {1}, {1});
  RunOp(&ws, Op("IndexHash", {"wide"}, {"wide"},
                {MakeArgument<int64_t>("modulo", INT64_MAX), MakeArgument("seed", 7)}));
  uint64_t hash = 7 * uint64_t{0xDEADBEEF} * 65537 + 1;
  for (int i = 1; i < 8; ++i) hash *= 65537;
  const auto signed_hash = static_cast<int64_t>(hash);
  EXPECT_EQ(FetchValues<int64_t>(ws, "wide")[0],
            signed_hash < 0 ? signed_hash + INT64_MAX : signed_hash % INT64_MAX);
  ExpectThrows(&ws, Op("IndexHash", {"ids"}, {"h"}, {MakeArgument<int64_t>("modulo", 1LL << 40)}),
               "modulo");
  ExpectThrows(&ws, Op("IndexHash", {"ids"}, {"h"}, {MakeArgument("modulo", 0)}), "modulo");
}

TEST(BatchSparseToDenseTest, WritesEntriesAndReadsThem) {
  Workspace ws;
  Feed<int32_t>(&ws, "L", {3}, {2, 0, 1});
  Feed<int64_t>(&ws, "I", {3}, {3, 0, 1});
  Feed<float>(&ws, "V", {3}, {1, 2, 3});
  const std::vector<Argument> args{MakeArgument("dense_last_dim", 4),
                                   MakeArgument("default_value", 9.f)};
  const OperatorDef dense = Op("BatchSparseToDense", {"L", "I", "V"}, {"D"}, args);
  RunOp(&ws, dense);
  ExpectTensor(ws, "D", {3, 4}, {2, 9, 9, 1, 9, 9, 9, 9, 9, 3, 9, 9});
  CheckGradient(&ws, dense, {2});
  FeedRandom(&ws, "like", {3, 5}, 1);
  RunOp(&ws, Op("BatchSparseToDense", {"L", "I", "V", "like"}, {"E"}));
  ExpectTensor(ws, "E", {3, 5}, {2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0});
  const OperatorDef sparse = Op("BatchDenseToSparse", {"L", "I", "like"}, {"W"});
  const auto like = FetchValues<float>(ws, "like");
  RunOp(&ws, sparse);
  ExpectTensor(ws, "W", {3}, {like[3], like[0], like[11]});
  CheckGradient(&ws, sparse, {2});
  ExpectThrows(&ws, Op("BatchSparseToDense", {"L", "I", "V"}, {"D"}), "dense_last_dim");
  Feed<int64_t>(&ws, "I", {3}, {3, 0, 4});
  ExpectThrows(&ws, dense, "index 4 at position 2");
  Feed<int32_t>(&ws, "L", {3}, {2, 0, 2});
  ExpectThrows(&ws, dense, "sum of the lengths");
}

TEST(SpaceToBatchTest, TakesBlocksApart) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  RunOp(&ws, Op("SpaceToBatch", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4, 1, 1, 2}, {1, 3, 2, 4, 5, 7, 6, 8}, 0, 0);
  RunOp(&ws, Op("BatchToSpace", {"Y"}, {"Z"}));
  ExpectTensor(ws, "Z", {1, 1, 2, 4}, FetchValues<float>(ws, "X"), 0, 0);
  // Pads above and to the left.
  const std::vector<Argument> padded{MakeArgument("block_size", 3), MakeArgument("pad_t", 1),
                                     MakeArgument("pad_l", 2)};
  RunOp(&ws, Op("SpaceToBatch", {"X"}, {"Y"}, padded));
  ExpectTensor(ws, "Y", {9, 1, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 1, 4, 0, 6, 0, 7, 5, 8}, 0, 0);
  RunOp(&ws, Op("BatchToSpace", {"Y"}, {"Z"}, padded));
  ExpectTensor(ws, "Z", {1, 1, 2, 4}, FetchValues<float>(ws, "X"), 0, 0);
  FeedRandom(&ws, "X", {2, 3, 4, 2}, 1);
  CheckGradient(&ws, Op("SpaceToBatch", {"X"}, {"Y"}), {0});
  FeedRandom(&ws, "X", {8, 3, 2, 1}, 1);
  CheckGradient(&ws, Op("BatchToSpace", {"X"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("SpaceToBatch", {"X"}, {"Y"}), "cannot be divided by 2");
  ExpectThrows(&ws, Op("BatchToSpace", {"X"}, {"Y"}, {padded[0]}), "in blocks of 9");
  ExpectThrows(&ws, Op("BatchToSpace", {"X"}, {"Y"}, {MakeArgument("pad", 9)}), "pads");
}

}  // namespace
}  // namespace caffe2::testing
