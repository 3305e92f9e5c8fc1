#include "caffe2/graph/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe2/core/argument.h"
#include "caffe2/core/tensor_int8.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::CountType;
using testing::ImageNetBuilder;
using testing::TypesOf;
using testing::ValuesOf;

// The largest difference, in parts of the largest value.
double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double max = 0, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    max = std::max<double>(max, std::abs(a[i]));
    difference = std::max<double>(difference, std::abs(a[i] - b[i]));
  }
  return difference / max;
}

NetDef Quantize(const NetDef& net, Workspace* ws, const QuantizationOptions& options = {}) {
  StaticQuantizer quantizer(net, {"data"}, ws, options);
  quantizer.Observe();
  return quantizer.Finish();
}

// Runs the quantized net in a workspace that holds nothing but what its external inputs name.
std::vector<float> RunAlone(const NetDef& net, const Workspace& ws, const std::string& output) {
  Workspace alone;
  for (const std::string& name : net.external_input()) {
    const Blob& blob = *ws.GetBlob(name);
    Blob* copy = alone.CreateBlob(name);
    if (blob.IsType<int8::Int8TensorCPU>()) {
      const auto& from = blob.Get<int8::Int8TensorCPU>();
      auto* to = copy->GetMutable<int8::Int8TensorCPU>();
      to->scale = from.scale;
      to->zero_point = from.zero_point;
      to->t.CopyFrom(from.t);
    } else {
      copy->GetMutable<Tensor>()->CopyFrom(blob.Get<Tensor>());
    }
  }
  EXPECT_TRUE(alone.RunNetOnce(net));
  return ValuesOf(alone, output);
}

class QuantizationTest : public ::testing::TestWithParam<std::string> {};

TEST_P(QuantizationTest, ResidualNetBecomesLevels) {
  Workspace ws;
  ImageNetBuilder builder(&ws, GetParam(), /*is_test=*/true);
  std::string x = builder.Input("data", 4, 3, 12);
  x = builder.Relu(builder.Norm(builder.Conv(x, "conv", 3, 8, 3, 1, true), "bn", 8), "bn");
  SetArgument(builder.Add("MaxPool", {x}, "pool1"), "kernel", 2);
  SetArgument(builder.net().mutable_op(builder.net().op_size() - 1), "stride", 2);
  x = builder.ResidualBlock("pool1", "a", 8, 8);
  x = builder.ResidualBlock(x, "b", 8, 12);
  builder.Fc(builder.AveragePool(x, "pool"), "fc", 12, 5);
  builder.net().add_external_output("fc");
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  const std::vector<float> floats = ValuesOf(ws, "fc");
  const std::vector<float> filter = ValuesOf(ws, "a_conv1_w");

  for (const RangeMethod ranges : {RangeMethod::kMinMax, RangeMethod::kMinError}) {
    for (const bool per_channel : {true, false}) {
      const NetDef net = Quantize(builder.net(), &ws, {ranges, per_channel});
      EXPECT_EQ(CountType(net, "Int8ConvRelu"), 3);
      EXPECT_EQ(CountType(net, "Int8Conv"), 1);  // the shortcut
      EXPECT_EQ(CountType(net, "Int8ConvSumRelu"), 2);
      EXPECT_EQ(CountType(net, "Int8MaxPool"), 1);
      EXPECT_EQ(CountType(net, "Int8AveragePool"), 1);
      EXPECT_EQ(CountType(net, "Int8FC"), 1);
      EXPECT_EQ(CountType(net, "Int8Quantize"), 1) << "only the input";
      EXPECT_EQ(CountType(net, "Int8Dequantize"), 0) << "FC writes floats itself";
      EXPECT_LT(Difference(RunAlone(net, ws, "fc"), floats), 0.05);
    }
  }
  EXPECT_EQ(ValuesOf(ws, "a_conv1_w"), filter) << "the old parameters stay";
}

// Concat needs one quantization, the columns of FC lie in another order, and operators without an
// Int8 form read and write floats.
TEST_P(QuantizationTest, BranchesJoinAndFloatsStayBetween) {
  Workspace ws;
  ImageNetBuilder builder(&ws, GetParam(), /*is_test=*/true);
  builder.Input("data", 3, 4, 6);
  builder.Relu(builder.Conv("data", "left", 4, 5, 1, 1, true), "left");  // in place
  builder.Conv("data", "right", 4, 7, 3, 1, true);
  builder.Add("Concat", {"left", "right"}, "joined")->add_output("sizes");
  builder.Conv("joined", "deep", 12, 6, 3);
  builder.Add("Tanh", {"deep"}, "curved");  // only in float
  builder.Conv("curved", "last", 6, 6, 3);
  builder.Fc("last", "hidden", 6 * 36, 10);
  builder.Relu("hidden", "hidden_relu");
  builder.Fc("hidden_relu", "fc", 10, 4);
  for (const char* output : {"fc", "joined", "deep"}) builder.net().add_external_output(output);
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  std::map<std::string, std::vector<float>> floats;
  for (const std::string& output : builder.net().external_output()) {
    floats[output] = ValuesOf(ws, output);
  }
  const NetDef net = Quantize(builder.net(), &ws);
  EXPECT_EQ(CountType(net, "Int8Concat"), 1);
  EXPECT_EQ(CountType(net, "Tanh"), 1);
  EXPECT_EQ(CountType(net, "Int8FC"), 2);
  EXPECT_EQ(CountType(net, "Int8Relu"), 1);
  EXPECT_EQ(CountType(net, "Int8Quantize"), 2) << "the input and the result of Tanh";
  for (const auto& [output, values] : floats) {
    EXPECT_LT(Difference(RunAlone(net, ws, output), values), 0.05) << output;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, QuantizationTest, ::testing::Values("NCHW", "NHWC"));

std::string ErrorOf(const NetDef& net, Workspace* ws) {
  try {
    Quantize(net, ws);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(QuantizationErrorTest, NetsThatCannotBeQuantizedAreExplained) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", /*is_test=*/true);
  builder.Input("data", 1, 2, 3);
  builder.Add("Tanh", {"data"}, "tanh");
  EXPECT_NE(ErrorOf(builder.net(), &ws).find("no operator that can be quantized"),
            std::string::npos);
  StaticQuantizer quantizer(builder.net(), {"data"}, &ws);
  EXPECT_THROW(quantizer.Finish(), EnforceNotMet) << "without examples";

  builder.Conv("tanh", "conv", 2, 3, 3, 1, true);
  auto* filter = ws.GetBlob("conv_w")->GetMutable<Tensor>();
  filter->mutable_data<float>()[5] = std::numeric_limits<float>::infinity();
  EXPECT_NE(ErrorOf(builder.net(), &ws).find("blob conv"), std::string::npos)
      << ErrorOf(builder.net(), &ws);
  filter->mutable_data<float>()[5] = 0;
  ws.GetBlob("data")->GetMutable<Tensor>()->mutable_data<float>()[1] = NAN;
  EXPECT_NE(ErrorOf(builder.net(), &ws).find("element 1 must be finite, found nan"),
            std::string::npos)
      << ErrorOf(builder.net(), &ws);

  OperatorDef* branch = builder.Add("If", {"data"}, "chosen");
  SetArgument(branch, "then_net", NetDef());
  EXPECT_NE(ErrorOf(builder.net(), &ws).find("If runs another net"), std::string::npos);
}

// A filter of zeros has no scale of its own, and its bias must fit 32 bits.
TEST(QuantizationParametersTest, DeadFiltersKeepTheirBias) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NHWC", /*is_test=*/true);
  builder.Input("data", 1, 2, 3);
  builder.Conv("data", "conv", 2, 4, 3, 1, true);
  float* filter = ws.GetBlob("conv_w")->GetMutable<Tensor>()->mutable_data<float>();
  std::fill_n(filter + 18, 18, 0.f);     // the second filter
  std::fill_n(filter + 36, 18, 1e-30f);  // the third is nearly dead
  builder.net().add_external_output("conv");
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  const std::vector<float> floats = ValuesOf(ws, "conv");
  const NetDef net = Quantize(builder.net(), &ws, {RangeMethod::kMinMax, true});
  EXPECT_LT(Difference(RunAlone(net, ws, "conv"), floats), 0.02);
}

}  // namespace
}  // namespace caffe2
