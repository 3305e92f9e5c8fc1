// A net of residual blocks with batch normalization inside its convolutions, on a CUDA device,
// against the plain net on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/gradient_sum.h"
#include "caffe2/model/layers.h"
#include "tests/operators/bottleneck_net.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

constexpr int kBatch = 2, kSize = 6, kData = 8, kLabels = 4;

using Results = std::map<std::string, std::vector<float>>;

// The loss, what normalization keeps, and the gradients of all parameters of one iteration.
Results Iterate(const Device& device, TensorProto::DataType type, ConvNormFusion fusion,
                std::map<std::string, int>* types) {
  ModelHelper model("m", {.order = "NHWC", .compute_type = type, .device = ToDeviceOption(device)});
  const std::string data = brew::CastTo(&model, "data", "data_cast", type);
  const std::string scores = AddBottlenecks(&model, data, kData, kLabels);
  const auto [softmax, loss] = brew::SoftmaxWithLoss(&model, scores, "label", "softmax", "loss");
  FuseOperators(model.net(), {});
  FuseConvolutionsWithNorms(model.net(), fusion);
  model.AddGradientOperators({{loss, ""}});
  if (device.type != CPU) FuseGradientSums(model.net());
  for (const OperatorDef& op : model.net()->op()) ++(*types)[op.type()];
  SetRandomSeeds(model.param_init_net(), 1);
  Workspace ws;
  ws.RunNetOnce(*model.param_init_net());
  FeedRandom(&ws, "data", {kBatch, kSize, kSize, kData}, 5);
  std::vector<int> labels = {0, 3};
  Feed(&ws, "label", {kBatch}, labels);
  if (device.type != CPU) {
    for (const char* name : {"data", "label"}) {
      ws.RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {name}, {"moved"})));
      ws.GetBlob(name)->swap(*ws.GetBlob("moved"));
    }
  }
  EXPECT_TRUE(ws.RunNetOnce(*model.net()));
  Results results;
  for (const std::string& name : {loss, std::string("a3_rm"), std::string("a0_riv")}) {
    results[name] = OnHost<float>(ws, name);
  }
  for (const std::string& parameter : model.params()) {
    const std::string& gradient = model.Gradient(parameter);
    results[gradient] = OnHost<float>(ws, gradient);
  }
  return results;
}

// The mean difference as part of the largest value.
double DifferenceOf(const std::vector<float>& expected, const std::vector<float>& found) {
  double largest = 1e-3, difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max<double>(largest, std::abs(expected[i]));
    difference += std::abs(expected[i] - found[i]) / static_cast<double>(expected.size());
  }
  return difference / largest;
}
// The mean of these over all results, none of which may be above `max`.
double MeanDifference(const Results& expected, const Results& found, double max) {
  double sum = 0;
  for (const auto& [name, values] : expected) {
    EXPECT_EQ(found.count(name), 1u) << name;
    EXPECT_EQ(found.at(name).size(), values.size()) << name;
    const double difference = DifferenceOf(values, found.at(name));
    EXPECT_LE(difference, max) << name;
    sum += difference;
  }
  return sum / static_cast<double>(expected.size());
}

class NormConvNetTest : public ::testing::Test {
 protected:
  static Results Fused(TensorProto::DataType type) {
    std::map<std::string, int> types;
    Results results = Iterate({CUDA, 0}, type, ConvNormFusion::kResidual, &types);
    // The first two projections' blocks end in the identity blocks behind them.
    EXPECT_EQ(types["NormSumNormReluConvStats"], 2);
    EXPECT_EQ(types["NormSumNormReluConvStatsGradient"], 2);
    EXPECT_EQ(types["NormSumReluConvStats"], 1);
    return results;
  }
  static Results Plain(const Device& device, TensorProto::DataType type) {
    std::map<std::string, int> types;
    return Iterate(device, type, ConvNormFusion::kNone, &types);
  }
};

TEST_F(NormConvNetTest, InFloatItIsThePlainNetOfTheHost) {
  NEED_CUDA();
  const Results expected = Plain(Device{}, TensorProto::FLOAT);
  EXPECT_GT(expected.size(), 40u);
  MeanDifference(expected, Fused(TensorProto::FLOAT), 1e-4);
}

// By the engines: as far from float as the plain net in 16 bits, in which Relus near their kinks
// open and close otherwise, too.
TEST_F(NormConvNetTest, In16BitsItIsAsCloseAsThePlainNet) {
  NEED_CUDA();
  const Results expected = Plain(Device{}, TensorProto::FLOAT);
  constexpr double kMaxDifference = 0.1;
  const double plain =
                   MeanDifference(expected, Plain({CUDA, 0}, TensorProto::FLOAT16), kMaxDifference),
               fused = MeanDifference(expected, Fused(TensorProto::FLOAT16), kMaxDifference);
  EXPECT_LE(fused, 1.5 * plain);
}

}  // namespace
}  // namespace caffe2::testing
