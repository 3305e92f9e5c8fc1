// Reductions of segments, against a loop over the entries.
#include <algorithm>
#include <cmath>

#include "tests/core/log_lines.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

const std::vector<int> kSortedIds{0, 0, 1, 2, 2, 2}, kAnyIds{2, 0, 2, 4, 0, 2};
const std::vector<int> kLengths{2, 0, 1, 3}, kIndices{4, 1, 4, 0, 3, 3};
constexpr int kWidth = 4;

// Feeds everything a segment operator may read: 6 rows X, 5 rows T that the indices read, weights.
void FeedAll(Workspace* ws) {
  FeedRandom(ws, "X", {6, 2, 2}, 1);
  FeedRandom(ws, "T", {5, 2, 2}, 2);
  FeedRandom(ws, "W", {6}, 3);
  Feed<int>(ws, "sorted", {6}, kSortedIds);
  Feed<int>(ws, "any", {6}, kAnyIds);
  Feed<int>(ws, "lengths", {4}, kLengths);
  Feed<int>(ws, "index", {6}, kIndices);
}

struct Case {
  std::string type, groups, reducer;
  bool sparse;

  std::vector<std::string> Inputs() const {
    std::vector<std::string> inputs{sparse ? "T" : "X"};
    if (reducer == "WeightedSum") inputs.emplace_back("W");
    if (sparse) inputs.emplace_back("index");
    inputs.push_back(groups);
    return inputs;
  }
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const std::vector<std::pair<std::string, std::string>> forms{
      {"SortedSegment", "sorted"}, {"UnsortedSegment", "any"}, {"Lengths", "lengths"}};
  for (const auto& [form, groups] : forms) {
    for (const char* reducer : {"Sum", "Mean", "WeightedSum"}) {
      cases.push_back({form + reducer, groups, reducer, false});
      cases.push_back({"Sparse" + form + reducer, groups, reducer, true});
    }
  }
  cases.push_back({"LengthsMax", "lengths", "Max", false});
  return cases;
}

// The segment of each entry, and how many segments there are.
std::pair<std::vector<int>, int> Grouping(const std::string& groups) {
  if (groups == "sorted") return {kSortedIds, 3};
  if (groups == "any") return {kAnyIds, 5};
  return {{0, 0, 2, 3, 3, 3}, 4};
}

std::vector<float> Reference(const Workspace& ws, const Case& test) {
  const auto [ids, count] = Grouping(test.groups);
  const auto data = FetchValues<float>(ws, test.sparse ? "T" : "X");
  const auto weights = FetchValues<float>(ws, "W");
  std::vector<double> sums(count * kWidth, 0), sizes(count, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int row = test.sparse ? kIndices[i] : static_cast<int>(i);
    for (int j = 0; j < kWidth; ++j) {
      const double x = data[row * kWidth + j];
      double& y = sums[ids[i] * kWidth + j];
      if (test.reducer == "Max") {
        y = sizes[ids[i]] == 0 ? x : std::max(y, x);
      } else {
        y += test.reducer == "WeightedSum" ? weights[i] * x : x;
      }
    }
    ++sizes[ids[i]];
  }
  std::vector<float> result;
  for (int i = 0; i < count * kWidth; ++i) {
    const bool divide = test.reducer == "Mean" && sizes[i / kWidth] > 0;
    result.push_back(static_cast<float>(divide ? sums[i] / sizes[i / kWidth] : sums[i]));
  }
  return result;
}

class SegmentOpTest : public ::testing::TestWithParam<Case> {};

TEST_P(SegmentOpTest, MatchesReference) {
  Workspace ws;
  FeedAll(&ws);
  const OperatorDef op = Op(GetParam().type, GetParam().Inputs(), {"Y"});
  const int count = Grouping(GetParam().groups).second;
  RunOp(&ws, op, true);  // most shapes depend on the ids
  ExpectTensor(ws, "Y", {count, 2, 2}, Reference(ws, GetParam()));
}

TEST_P(SegmentOpTest, GradientIsNumericOne) {
  Workspace ws;
  FeedAll(&ws);
  CheckGradient(&ws, Op(GetParam().type, GetParam().Inputs(), {"Y"}), {0});
}

TEST_P(SegmentOpTest, TakesNothing) {
  Workspace ws;
  Feed<float>(&ws, "X", {0, 3}, {});
  Feed<float>(&ws, "T", {2, 3}, std::vector<float>(6));
  Feed<float>(&ws, "W", {0}, {});
  for (const char* name : {"sorted", "any", "lengths", "index"}) Feed<int>(&ws, name, {0}, {});
  RunOp(&ws, Op(GetParam().type, GetParam().Inputs(), {"Y"}), true);
  ExpectTensor(ws, "Y", {0, 3}, {});
}

TEST_P(SegmentOpTest, RejectsBadInput) {
  Workspace ws;
  FeedAll(&ws);
  const OperatorDef op = Op(GetParam().type, GetParam().Inputs(), {"Y"});
  if (GetParam().sparse) {
    Feed<int>(&ws, "index", {6}, {0, 1, 2, 5, 0, 0});
    ExpectThrows(&ws, op, "index 5 at position 3");
    Feed<int>(&ws, "index", {6}, kIndices);
  }
  if (GetParam().reducer == "WeightedSum") {
    FeedRandom(&ws, "W", {5}, 3);
    ExpectThrows(&ws, op, "weights [5]");
    FeedRandom(&ws, "W", {6}, 3);
  }
  Feed<int>(&ws, "sorted", {6}, {0, 0, 2, 2, 3, 3});
  Feed<int>(&ws, "any", {6}, {0, -1, 2, 2, 3, 3});
  Feed<int>(&ws, "lengths", {2}, {7, -1});
  ExpectThrows(&ws, op,
               GetParam().groups == "sorted" ? "no gaps"
               : GetParam().groups == "any"  ? "index -1"
                                             : "length 1");
  for (const char* name : {"sorted", "any", "lengths"}) Feed<int>(&ws, name, {2}, {0, 1});
  ExpectThrows(&ws, op, "entries");
  for (const char* name : {"sorted", "any", "lengths"}) FeedRandom(&ws, name, {6}, 1);
  ExpectThrows(&ws, op, "must be int32 or int64");
}

INSTANTIATE_TEST_SUITE_P(All, SegmentOpTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.type; });

TEST(LengthsReductionTest, WeightsGetGradients) {
  Workspace ws;
  FeedAll(&ws);
  const auto grad = MakeArgument("grad_on_weights", 1);
  CheckGradient(&ws, Op("LengthsWeightedSum", {"X", "W", "lengths"}, {"Y"}, {grad}), {0, 1});
  CheckGradient(&ws, Op("SparseLengthsWeightedSum", {"T", "W", "index", "lengths"}, {"Y"}, {grad}),
                {0, 1});
}

// The older gradient operators, without indices, that saved nets hold.
TEST(LengthsReductionTest, GradientsWithoutIndicesAreTheSame) {
  Workspace ws;
  FeedAll(&ws);
  FeedRandom(&ws, "dY", {4, 2, 2}, 9);
  const auto same = [&ws](const std::string& older, const std::string& newer,
                          std::vector<std::string> inputs) {
    RunOp(&ws, Op(older, inputs, {"older"}), true);
    inputs.emplace_back("index");
    RunOp(&ws, Op(newer, inputs, {"newer"}), true);
    EXPECT_EQ(FetchValues<float>(ws, "older"), FetchValues<float>(ws, "newer"));
  };
  same("LengthsSumGradient", "LengthsIndicesInGradientSumGradient", {"dY", "lengths"});
  same("SparseLengthsSumGradient", "SparseLengthsIndicesInGradientSumGradient", {"dY", "lengths"});
  same("SparseLengthsWeightedSumGradient", "SparseLengthsIndicesInGradientWeightedSumGradient",
       {"W", "dY", "lengths"});
  for (const char* name : {"SparseLengthsWeightedSumWithMainInputGradient",
                           "SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient"}) {
    RunOp(&ws, Op(name, {"W", "dY", "lengths", "T", "index"}, {"dX", "dW"}));
    EXPECT_EQ(FetchValues<float>(ws, "dX"), FetchValues<float>(ws, "newer"));
  }
  same("SparseLengthsMeanGradient", "SparseLengthsIndicesInGradientMeanGradient",
       {"dY", "lengths"});
  RunOp(&ws, Op("SparseLengthsMeanGradient", {"dY", "lengths"}, {"dX"}), true);
  RunOp(&ws, Op("LengthsMeanGradient", {"dY", "lengths"}, {"dX2"}), true);
  EXPECT_EQ(FetchValues<float>(ws, "dX"), FetchValues<float>(ws, "dX2"));
  Feed<int>(&ws, "lengths", {3}, {2, 1, 3});
  ExpectThrows(&ws, Op("LengthsSumGradient", {"dY", "lengths"}, {"dX"}), "gradient [4, 2, 2]");
}

// They keep no memory of their own that a recording would hold.
TEST(LengthsReductionTest, CudaGraphsHoldThem) {
  NEED_CUDA();
  NetDef net;
  net.set_name("net");
  net.set_type("cuda_graph");
  net.mutable_device_option()->set_device_type(CUDA);
  *net.add_op() = Op("LengthsSum", {"x", "l"}, {"y"});
  *net.add_op() = Op("LengthsIndicesInGradientSumGradient", {"y", "l", "i"}, {"dx"});
  Workspace ws;
  FeedAll(&ws);
  for (const auto& [from, to] :
       {std::pair{"X", "x"}, std::pair{"lengths", "l"}, std::pair{"index", "i"}}) {
    ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {from}, {to})));
  }
  ws.CreateNet(net);
  const LogLines log;
  for (int run = 0; run < 4; ++run) ASSERT_TRUE(ws.RunNet("net"));
  EXPECT_TRUE(log.Contain("net net: 2 of 2 operators recorded in 1 CUDA graphs"));
  RunOp(&ws, Op("LengthsSum", {"X", "lengths"}, {"Y"}));
  RunOp(&ws, Op("LengthsIndicesInGradientSumGradient", {"Y", "lengths", "index"}, {"dX"}), true);
  EXPECT_EQ(OnHost<float>(ws, "y"), FetchValues<float>(ws, "Y"));
  EXPECT_EQ(OnHost<float>(ws, "dx"), FetchValues<float>(ws, "dX"));
}

TEST(LengthsReductionTest, SparseOnesReadHalfPrecision) {
  Workspace ws;
  FeedAll(&ws);
  RunOp(&ws, Op("FloatToHalf", {"T"}, {"T16"}));
  RunOp(&ws, Op("HalfToFloat", {"T16"}, {"T"}));
  RunOp(&ws, Op("SparseLengthsSum", {"T", "index", "lengths"}, {"Y"}));
  RunOp(&ws, Op("SparseLengthsSum", {"T16", "index", "lengths"}, {"Y16"}));
  EXPECT_EQ(FetchValues<float>(ws, "Y"), FetchValues<float>(ws, "Y16"));
}

TEST(LengthsReductionTest, PositionsHaveWeights) {
  Workspace ws;
  Feed<float>(&ws, "T", {3, 1}, {1, 10, 100});
  Feed<float>(&ws, "W", {2}, {2, 3});
  Feed<int64_t>(&ws, "index", {3}, {2, 0, 1});
  Feed<int64_t>(&ws, "lengths", {2}, {1, 2});
  const OperatorDef op =
      Op("SparseLengthsPositionalWeightedSum", {"T", "W", "index", "lengths"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {2, 1}, {200, 32});
  Feed<int64_t>(&ws, "lengths", {1}, {3});
  ExpectThrows(&ws, op, "number of weights");
}

TEST(UnsortedSegmentTest, TakesTheNumberOfSegments) {
  Workspace ws;
  FeedAll(&ws);
  RunOp(&ws, Op("UnsortedSegmentSum", {"X", "any"}, {"Y"}, {MakeArgument("num_segments", 7)}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{7, 2, 2}));
  ExpectThrows(&ws,
               Op("UnsortedSegmentSum", {"X", "any"}, {"Y"}, {MakeArgument("num_segments", 4)}),
               "out of range for 4");
  Feed<int64_t>(&ws, "any", {6}, {0, 1, 2, 3, 4, INT64_MAX});
  ExpectThrows(&ws, Op("UnsortedSegmentSum", {"X", "any"}, {"Y"}), "segment id");
}

TEST(SegmentRangeTest, MatchReferencesAndGradients) {
  Workspace ws;
  FeedAll(&ws);
  const auto x = FetchValues<float>(ws, "X");
  const auto reduce = [&x](const auto& function) {
    std::vector<float> result;
    for (int s = 0; s < 3; ++s) {
      for (int j = 0; j < kWidth; ++j) {
        std::vector<double> values;
        for (size_t i = 0; i < kSortedIds.size(); ++i) {
          if (kSortedIds[i] == s) values.push_back(x[i * kWidth + j]);
        }
        result.push_back(static_cast<float>(function(values)));
      }
    }
    return result;
  };
  const auto sum = [](const std::vector<double>& v) {
    double total = 0;
    for (const double value : v) total += value;
    return total;
  };
  const auto sum_of_exp = [](const std::vector<double>& v) {
    double total = 0;
    for (const double value : v) total += std::exp(value);
    return total;
  };
  using Values = const std::vector<double>&;
  const std::vector<std::pair<std::string, std::vector<float>>> expected{
      {"Sum", reduce(sum)},
      {"Mean", reduce([&](Values v) { return sum(v) / v.size(); })},
      {"Max", reduce([](Values v) { return *std::max_element(v.begin(), v.end()); })},
      {"LogSumExp", reduce([&](Values v) { return std::log(sum_of_exp(v)); })},
      {"LogMeanExp", reduce([&](Values v) { return std::log(sum_of_exp(v) / v.size()); })}};
  for (const auto& [name, values] : expected) {
    const OperatorDef op = Op("SortedSegmentRange" + name, {"X", "sorted"}, {"Y"});
    RunOp(&ws, op, true);
    ExpectTensor(ws, "Y", {3, 2, 2}, values);
    CheckGradient(&ws, op, {0});
  }
  Feed<float>(&ws, "large", {2, 1}, {1000, 1000});
  Feed<int>(&ws, "ids", {2}, {0, 0});
  RunOp(&ws, Op("SortedSegmentRangeLogMeanExp", {"large", "ids"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {1, 1}, {1000});
  Feed<int>(&ws, "ids", {2}, {1, 1});
  ExpectThrows(&ws, Op("SortedSegmentRangeSum", {"large", "ids"}, {"Y"}), "begin with 0");
}

}  // namespace
}  // namespace caffe2::testing
