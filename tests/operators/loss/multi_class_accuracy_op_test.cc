#include "tests/operators/loss/wide_labels.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(MultiClassAccuracyTest, CountsEachClass) {
  Workspace ws;
  Feed<float>(&ws, "P", {4, 3}, {1, 2, 0, 3, 1, 0, 0, 1, 2, 0, 5, 1});
  Feed<int32_t>(&ws, "labels", {4}, {1, 0, 1, 1});
  const OperatorDef op = Op("MultiClassAccuracy", {"P", "labels"}, {"A", "N"});
  RunOp(&ws, op);
  ExpectTensor(ws, "A", {3}, {1, 2.f / 3, 0});
  EXPECT_EQ(FetchValues<int32_t>(ws, "N"), (std::vector<int32_t>{1, 3, 0}));
  Feed<int32_t>(&ws, "labels", {4}, {1, 0, 3, 1});
  ExpectThrows(&ws, op, "label 3 of row 2");
}

TEST(MultiClassAccuracyTest, TakesWideLabels) {
  Workspace ws;
  FeedRandom(&ws, "X", {6, 3}, 1);
  Feed<int>(&ws, "label", {6}, {0, 1, 2, 2, 1, 0});
  ExpectWideLabelsWork(&ws, Op("MultiClassAccuracy", {"X", "label"}, {"accuracy", "amount"}));
}

TEST(APMeterTest, KeepsTheLastPredictions) {
  Workspace ws;
  const OperatorDef op = Op("APMeter", {"P", "labels"}, {"AP"}, {MakeArgument("buffer_size", 3)});
  Feed<float>(&ws, "P", {2, 2}, {0.9f, 0.1f, 0.5f, 0.2f});
  Feed<int32_t>(&ws, "labels", {2, 2}, {0, 1, 1, 0});
  RunOp(&ws, op);
  ExpectTensor(ws, "AP", {2}, {0.5f, 0.5f});
  // Kept across runs: the first prediction of three drops out after two more.
  NetDef net;
  net.set_name("meter");
  *net.add_op() = op;
  NetBase* meter = ws.CreateNet(net);
  ASSERT_TRUE(meter->Run());
  Feed<float>(&ws, "P", {2, 2}, {0.7f, 0.3f, 0.4f, 0.9f});
  Feed<int32_t>(&ws, "labels", {2, 2}, {0, 1, 1, 1});
  ASSERT_TRUE(meter->Run());
  // Column 0: 0.7 no, 0.5 yes, 0.4 yes: (1/2 + 2/3) / 2. Column 1: 0.9, 0.3 yes, 0.2 no.
  ExpectTensor(ws, "AP", {2}, {7.f / 12, 1});
  Feed<int32_t>(&ws, "labels", {1, 2}, {0, 1});
  ExpectThrows(&ws, op, "must be matrices of the same shape");
}

}  // namespace
}  // namespace caffe2::testing
