// What prepares features: BatchBoxCox, Percentile, BisectPercentile, PiecewiseLinearTransform,
// SquareRootDivide, BernoulliJSD, WeightedSample, WeightedMultiSampling,
// SparseDropoutWithReplacement, BatchBucketize, NGramFromCategorical, Perplexity,
// FindDuplicateElements, lists of ids, BatchSparseToDense.
#include <cmath>
#include <limits>

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

TEST(BisectPercentileTest, StepsAtPoints) {
  Workspace ws;
  const std::vector<Argument> args{
      MakeArgument("percentile_raw", Floats{1, 2, 4, 5}),
      MakeArgument("percentile_mapping", Floats{0.1f, 0.4f, 0.9f, 0.5f}),
      MakeArgument("percentile_lower", Floats{0, 0.3f, 0.8f, 0.2f}),
      MakeArgument("percentile_upper", Floats{0.2f, 0.5f, 1, 0.7f}),
      MakeArgument("lengths", std::vector<int64_t>{3, 1})};
  const OperatorDef op = Op("BisectPercentile", {"X"}, {"Y"}, args);
  Feed<float>(&ws, "X", {6, 2}, {0, 4, 1, 5, 1.5f, 6, 2, 5, 3, 5, 4.5f, 5});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {6, 2}, {0, 0, 0.1f, 0.5f, 0.25f, 1, 0.4f, 0.5f, 0.65f, 0.5f, 1, 0.5f});
  Feed<float>(&ws, "X", {2, 3}, {0, 0, 0, 0, 0, 0});
  ExpectThrows(&ws, op, "must be N x 2");
  const auto with = [&args](const std::string& name, const auto& value) {
    std::vector<Argument> changed = args;
    for (Argument& arg : changed) {
      if (arg.name() == name) arg = MakeArgument(name, value);
    }
    return Op("BisectPercentile", {"X"}, {"Y"}, changed);
  };
  ExpectThrows(&ws, with("lengths", std::vector<int64_t>{3, 2}), "length 2 of feature 1");
  ExpectThrows(&ws, with("lengths", std::vector<int64_t>{3}), "the sum of lengths");
  ExpectThrows(&ws, with("percentile_raw", Floats{1, 1, 4, 5}), "must increase");
  ExpectThrows(&ws, with("percentile_lower", Floats{1}), "have 4, 4, 1 and 4 points");
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
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Feed<float>(&ws, "Z", {2, 2}, {nan, 2, 1, nan});
  RunOp(&ws, Op("PiecewiseLinearTransform", {"Z"}, {"Y"}, args));
  const auto with_nan = FetchValues<float>(ws, "Y");
  EXPECT_TRUE(std::isnan(with_nan[0]) && std::isnan(with_nan[3]));
  EXPECT_EQ(with_nan[1], -2);
  EXPECT_EQ(with_nan[2], 2);
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
  ExpectThrows(&ws, Op("BernoulliJSD", {"P", "Q"}, {"L"}), "input 1 has shape [2]");
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
  Feed<float>(&ws, "W", {0, 0}, {});
  RunOp(&ws, Op("WeightedSample", {"W", "W"}, {"I", "fresh"}));
  EXPECT_EQ(Fetch(ws, "fresh").sizes(), Longs{0});
  Feed<float>(&ws, "W", {1, 2}, {0, 0});
  ExpectThrows(&ws, Op("WeightedSample", {"W"}, {"I"}), "sum of the weights of row 0");
  Feed<float>(&ws, "W", {1, 2}, {2, -1});
  ExpectThrows(&ws, Op("WeightedSample", {"W"}, {"I"}), "weight 1 of row 0 is -1");
}

TEST(WeightedMultiSamplingTest, DrawsInProportionToWeights) {
  Workspace ws;
  Feed<float>(&ws, "W", {4}, {0, 1, 3, 0});
  OperatorDef op = Op("WeightedMultiSampling", {"W"}, {"I"}, {MakeArgument("num_samples", 4000)});
  op.mutable_device_option()->set_random_seed(3);
  RunOp(&ws, op);
  int count[4] = {};
  for (const int index : FetchValues<int32_t>(ws, "I")) ++count[index];
  EXPECT_EQ(count[1] + count[2], 4000);
  EXPECT_NEAR(count[2], 3000, 150);  // more than 5 standard deviations
  Feed<float>(&ws, "like", {2, 3}, Floats(6));
  RunOp(&ws, Op("WeightedMultiSampling", {"W", "like"}, {"I"}));
  EXPECT_EQ(Fetch(ws, "I").sizes(), (Longs{2, 3}));
  ExpectThrows(&ws, Op("WeightedMultiSampling", {"W", "like"}, {"I"}, {op.arg(0)}), "together");
  Feed<float>(&ws, "W", {2}, {0, 0});
  ExpectThrows(&ws, op, "the sum of the weights");
  Feed<float>(&ws, "W", {2}, {1, -1});
  ExpectThrows(&ws, op, "weight 1 of input 0 is -1");
  Feed<float>(&ws, "W", {0}, {});
  RunOp(&ws, op);
  EXPECT_EQ(Fetch(ws, "I").sizes(), Longs{0});
}

TEST(SparseDropoutWithReplacementTest, ReplacesWholeLists) {
  Workspace ws;
  constexpr int kLists = 1000;
  Longs ids;
  for (int i = 0; i < kLists; ++i) ids.insert(ids.end(), {2 * i, 2 * i + 1});
  Feed(&ws, "X", {2 * kLists}, ids);
  Feed(&ws, "n", {kLists}, Ints(kLists, 2));
  const auto dropout = [](float ratio) {
    OperatorDef op = Op("SparseDropoutWithReplacement", {"X", "n"}, {"Y", "m"},
                        {MakeArgument("ratio", ratio), MakeArgument("replacement_value", -1)});
    op.mutable_device_option()->set_random_seed(3);
    return op;
  };
  RunOp(&ws, dropout(0.25f), true);
  const auto y = FetchValues<int64_t>(ws, "Y");
  size_t at = 0;
  int dropped = 0;
  const auto lengths = FetchValues<int32_t>(ws, "m");
  for (int i = 0; i < kLists; ++i) {
    if (lengths[i] == 1) {
      ++dropped;
      EXPECT_EQ(y[at++], -1);
    } else {
      EXPECT_EQ(lengths[i], 2);
      EXPECT_EQ(y[at++], 2 * i);
      EXPECT_EQ(y[at++], 2 * i + 1);
    }
  }
  EXPECT_EQ(at, y.size());
  EXPECT_NEAR(dropped, 250, 70);  // 5 standard deviations
  RunOp(&ws, dropout(0), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), ids);
  Feed<int64_t>(&ws, "X", {0}, {});
  Feed<int32_t>(&ws, "n", {1}, {0});
  RunOp(&ws, dropout(1), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), Longs{-1});
  ExpectThrows(&ws, dropout(1.5f), "from 0 to 1");
}

TEST(BatchBucketizeTest, CountsBoundariesBelow) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 3}, {1, 9, 5, 2, 9, 6, 3, 9, 0});
  Feed<int32_t>(&ws, "i", {2}, {2, 0});
  Feed<float>(&ws, "b", {3}, {5, 1, 2});
  Feed<int32_t>(&ws, "n", {2}, {1, 2});
  const OperatorDef op = Op("BatchBucketize", {"X", "i", "b", "n"}, {"Y"});
  RunOp(&ws, op);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Longs{3, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{0, 0, 1, 1, 0, 2}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Feed<float>(&ws, "X", {1, 3}, {nan, 9, 5.5f});  // below all
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{1, 0}));
  Feed<float>(&ws, "b", {3}, {5, 2, 1});
  ExpectThrows(&ws, op, "boundaries of feature 1 must be sorted");
  Feed<int32_t>(&ws, "n", {3}, {1, 1, 1});
  ExpectThrows(&ws, op, "one for each of INDICES");
  Feed<int32_t>(&ws, "i", {2}, {3, 0});
  ExpectThrows(&ws, op, "index 3");
}

TEST(NGramFromCategoricalTest, CountsInMixedBases) {
  Workspace ws;
  // Column 2 has the values 10, 20, 30; column 0 has 7, 5.
  const auto op = [](const Longs& limits) {
    return Op("NGramFromCategorical", {"X"}, {"Y"},
              {MakeArgument("col_ids", Longs{2, 0}), MakeArgument("categorical_limits", limits),
               MakeArgument("vals", Longs{10, 20, 30, 7, 5})});
  };
  Feed<float>(&ws, "X", {3, 3}, {5, 0, 30, 7, 0, 19.6f, 4, 0, 10});
  RunOp(&ws, op({3, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{2 + 3, 1, 0}));
  ExpectThrows(&ws, op({3, 1}), "the sum of categorical_limits");
  ExpectThrows(&ws, op({3, 3}), "with 2 vals left");
  ExpectThrows(&ws, op({5}), "one for each of col_ids");
  Feed<float>(&ws, "X", {1, 2}, {1, 2});
  ExpectThrows(&ws, op({3, 2}), "index 2");
}

TEST(PerplexityTest, IsTheInverseGeometricMean) {
  Workspace ws;
  Feed<float>(&ws, "X", {3}, {0.5f, 0.25f, 1});
  RunOp(&ws, Op("Perplexity", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {2});
  Feed(&ws, "X", {1000}, Floats(1000, 0.01f));  // whose product is 0 as a float
  RunOp(&ws, Op("Perplexity", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {100});
  Feed<float>(&ws, "X", {1, 1}, {1});
  ExpectThrows(&ws, Op("Perplexity", {"X"}, {"Y"}), "one-dimensional");
}

TEST(FindDuplicateElementsTest, NamesLaterPlaces) {
  Workspace ws;
  Feed<std::string>(&ws, "X", {5}, {"a", "b", "a", "c", "a"});
  RunOp(&ws, Op("FindDuplicateElements", {"X"}, {"I"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (Longs{2, 4}));
  Feed<int32_t>(&ws, "X", {2}, {1, 2});
  RunOp(&ws, Op("FindDuplicateElements", {"X"}, {"I"}), true);
  EXPECT_EQ(Fetch(ws, "I").sizes(), Longs{0});
  Feed<int32_t>(&ws, "X", {1, 2}, {1, 2});
  ExpectThrows(&ws, Op("FindDuplicateElements", {"X"}, {"I"}), "one-dimensional");
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

  Feed<float>(&ws, "dense", {3, 4}, {0, 2, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0});
  const OperatorDef to_lists = Op("DenseVectorToIdList", {"dense"}, {"l", "v"});
  RunOp(&ws, to_lists, true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "l"), (Ints{2, 0, 1}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "v"), (Ints{1, 3, 0}));
  Feed<float>(&ws, "dense", {3}, {0, 2, 0});
  ExpectThrows(&ws, to_lists, "must be a matrix");

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

TEST(BatchSparseToDenseTest, TheLastOfEqualColumnsCounts) {
  Workspace ws;
  constexpr int kColumns = 300, kEntries = 400;
  Floats values = RandomValues(2 * kEntries, 1), dense(3 * kColumns, -1.f), sparse;
  Ints columns;
  for (int e = 0; e < 2 * kEntries; ++e) {
    columns.push_back(e * 7 % 290);
    dense[(e < kEntries ? 0 : 2 * kColumns) + columns.back()] = values[e];
  }
  for (int e = 0; e < 2 * kEntries; ++e) {
    sparse.push_back(dense[(e < kEntries ? 0 : 2 * kColumns) + columns[e]]);
  }
  Feed<int64_t>(&ws, "L", {3}, {kEntries, 0, kEntries});
  Feed(&ws, "I", {2 * kEntries}, columns);
  Feed(&ws, "V", {2 * kEntries}, values);
  const OperatorDef op =
      Op("BatchSparseToDense", {"L", "I", "V"}, {"D"},
         {MakeArgument("dense_last_dim", kColumns), MakeArgument("default_value", -1.f)});
  RunOp(&ws, op);
  ExpectTensor(ws, "D", {3, kColumns}, dense, 0, 0);
  RunOp(&ws, Op("BatchDenseToSparse", {"L", "I", "D"}, {"W"}));
  ExpectTensor(ws, "W", {2 * kEntries}, sparse, 0, 0);
  Feed<int64_t>(&ws, "L", {3}, {kEntries + 1, -1, kEntries});
  ExpectThrows(&ws, op, "length 1");
  columns[5] = -1;
  Feed(&ws, "I", {2 * kEntries}, columns);
  Feed<int64_t>(&ws, "L", {3}, {kEntries, 0, kEntries});
  ExpectThrows(&ws, op, "index -1 at position 5");
  ExpectThrows(&ws, Op("BatchDenseToSparse", {"L", "I", "D"}, {"W"}), "index -1 at position 5");
  ExpectThrows(&ws, Op("BatchDenseToSparse", {"L", "L", "V"}, {"W"}), "dense [800]");
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
