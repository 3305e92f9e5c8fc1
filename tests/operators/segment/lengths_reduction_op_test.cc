#include "tests/core/log_lines.h"
#include "tests/operators/op_test.h"
#include "tests/operators/segment/segment_test_util.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

class LengthsReductionOpTest : public ::testing::TestWithParam<SegmentCase> {};

TEST_P(LengthsReductionOpTest, MatchesReference) { ExpectSegmentReference(GetParam()); }
TEST_P(LengthsReductionOpTest, GradientIsNumericOne) { CheckSegmentGradient(GetParam()); }
TEST_P(LengthsReductionOpTest, TakesNothing) { ExpectNoSegments(GetParam()); }
TEST_P(LengthsReductionOpTest, TakesSixteenBits) { ExpectSixteenBitSegments(GetParam()); }
TEST_P(LengthsReductionOpTest, RejectsBadInput) { ExpectBadSegmentsRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, LengthsReductionOpTest,
                         ::testing::ValuesIn(SegmentCases("Lengths", "lengths", false)),
                         [](const auto& info) { return info.param.type; });
INSTANTIATE_TEST_SUITE_P(Max, LengthsReductionOpTest,
                         ::testing::Values(SegmentCase{"LengthsMax", "lengths", "Max", false}),
                         [](const auto& info) { return info.param.type; });

TEST(LengthsReductionTest, ReducesWideRows) {
  for (const std::string reducer : {"Sum", "Mean", "WeightedSum", "Max"}) {
    ExpectWideSegments({"Lengths" + reducer, "lengths", reducer, false});
  }
  ExpectWideSegments({"SortedSegmentSum", "sorted", "Sum", false});
}

TEST(LengthsReductionTest, MaximaIgnoreLaterNaN) {
  Workspace ws;
  std::vector<float> x(3 * 70, 1), expected(70, 2);
  std::fill_n(x.begin() + 70, 70, NAN);
  std::fill_n(x.begin() + 140, 70, 2.f);
  x[5] = expected[5] = NAN;
  x[6] = expected[6] = INFINITY;
  Feed(&ws, "X", {3, 70}, x);
  Feed<int>(&ws, "lengths", {1}, {3});
  RunOp(&ws, Op("LengthsMax", {"X", "lengths"}, {"Y"}));
  ExpectEach<float>(ws, "Y",
                    [&](float y, int64_t i) { return i == 5 ? std::isnan(y) : y == expected[i]; });
}

// A loop over the rows would take seconds.
TEST(LengthsReductionTest, TakesManyRowsWithoutElements) {
  Workspace ws;
  constexpr int kMany = 1 << 30;
  Feed<float>(&ws, "dY", {2, 0}, {});
  Feed<float>(&ws, "X", {2, 0}, {});
  Feed<int>(&ws, "lengths", {2}, {kMany, kMany});
  RunOp(&ws, Op("LengthsSumGradient", {"dY", "lengths"}, {"sum"}), true);
  RunOp(&ws, Op("LengthsMeanGradient", {"dY", "lengths"}, {"mean"}), true);
  RunOp(&ws, Op("LengthsTile", {"X", "lengths"}, {"tiles"}), true);
  for (const char* name : {"sum", "mean", "tiles"}) {
    EXPECT_EQ(Fetch(ws, name).sizes(), (std::vector<int64_t>{int64_t{2} * kMany, 0}));
  }
  RunOp(&ws, Op("LengthsSum", {"sum", "lengths"}, {"Y"}), true);
  RunOp(&ws, Op("LengthsMax", {"sum", "lengths"}, {"Z"}), true);
  ExpectTensor(ws, "Y", {2, 0}, {});
  ExpectTensor(ws, "Z", {2, 0}, {});
  RunOp(
      &ws,
      Op("LengthsMaxWithMainInputAndForwardOutputGradient", {"Z", "dY", "lengths", "sum"}, {"max"}),
      true);
  EXPECT_EQ(Fetch(ws, "max").numel(), 0);
}

TEST(LengthsReductionTest, WeightsGetGradients) {
  Workspace ws;
  FeedSegments(&ws);
  const auto grad = MakeArgument("grad_on_weights", 1);
  CheckGradient(&ws, Op("LengthsWeightedSum", {"X", "W", "lengths"}, {"Y"}, {grad}), {0, 1});
  CheckGradient(&ws, Op("SparseLengthsWeightedSum", {"T", "W", "index", "lengths"}, {"Y"}, {grad}),
                {0, 1});
}

// The older gradient operators, without indices, that saved nets hold.
TEST(LengthsReductionTest, GradientsWithoutIndicesAreTheSame) {
  Workspace ws;
  FeedSegments(&ws);
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
  Strings weights;
  for (const char* name : {"SparseLengthsWeightedSumWithMainInputGradient",
                           "SparseLengthsIndicesInGradientWeightedSumWithMainInputGradient"}) {
    weights.push_back(std::string(name) + "_dW");
    RunOp(&ws, Op(name, {"W", "dY", "lengths", "T", "index"}, {"dX", weights.back()}));
    EXPECT_EQ(FetchValues<float>(ws, "dX"), FetchValues<float>(ws, "newer"));
  }
  EXPECT_EQ(FetchValues<float>(ws, weights[0]), FetchValues<float>(ws, weights[1]));
  same("SparseLengthsMeanGradient", "SparseLengthsIndicesInGradientMeanGradient",
       {"dY", "lengths"});
  RunOp(&ws, Op("SparseLengthsMeanGradient", {"dY", "lengths"}, {"dX"}), true);
  RunOp(&ws, Op("LengthsMeanGradient", {"dY", "lengths"}, {"dX2"}), true);
  EXPECT_EQ(FetchValues<float>(ws, "dX"), FetchValues<float>(ws, "dX2"));
  Feed<int>(&ws, "lengths", {3}, {2, 1, 3});
  ExpectThrows(&ws, Op("LengthsSumGradient", {"dY", "lengths"}, {"dX"}),
               "the gradient must have one row for each of the 3 lengths, found shape [4, 2, 2]");
}

// Whatever tells the number of entries (indices, data or weights), the lengths must add up to it.
TEST(LengthsReductionTest, GradientsRefuseAnotherSumOfLengths) {
  Workspace ws;
  FeedSegments(&ws);
  FeedRandom(&ws, "dY", {4, 2, 2}, 9);
  const Strings with_indices{"dY", "lengths", "index"}, weighted{"W", "dY", "lengths"};
  const std::pair<const char*, Strings> gradients[] = {
      {"LengthsIndicesInGradientSumGradient", {"dY", "lengths", "X"}},
      {"SparseLengthsIndicesInGradientSumGradient", with_indices},
      {"SparseLengthsIndicesInGradientMeanGradient", with_indices},
      {"SparseLengthsIndicesInGradientWeightedSumGradient", {"W", "dY", "lengths", "index"}},
      {"LengthsWeightedSumGradient", weighted},
      {"SparseLengthsWeightedSumGradient", weighted},
      {"LengthsWeightedSumWithMainInputGradient", {"W", "dY", "lengths", "X"}},
      {"SparseLengthsWeightedSumWithMainInputGradient", {"W", "dY", "lengths", "T", "index"}},
      {"LengthsMaxWithMainInputAndForwardOutputGradient", {"dY", "dY", "lengths", "X"}},
  };
  for (const auto& [type, inputs] : gradients) {
    const bool with_weights = std::string(type).find("WithMainInput") != std::string::npos &&
                              std::string(type).find("Max") == std::string::npos;
    const OperatorDef op = Op(type, inputs, with_weights ? Strings{"dX", "dW"} : Strings{"dX"});
    Feed<int>(&ws, "lengths", {4}, {2, 0, 1, 2});
    ExpectThrows(&ws, op, "the lengths must add up to the 6 entries, but add up to 5");
    Feed<int>(&ws, "lengths", {4}, {2, 100, 1, 3});
    ExpectThrows(&ws, op, "the lengths must add up to the 6 entries, but add up to 106");
    Feed<int>(&ws, "lengths", {4}, kSegmentLengths);
    RunOp(&ws, op, true);  // and these do
  }
  Feed<int>(&ws, "matrix", {2, 3}, kSegmentIndices);
  ExpectThrows(&ws,
               Op("SparseLengthsIndicesInGradientSumGradient", {"dY", "lengths", "matrix"}, {"dX"}),
               "input 2 must have one axis, found shape [2, 3]");
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
  FeedSegments(&ws);
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

}  // namespace
}  // namespace caffe2::testing
