#include "tests/graph/image_net.h"

#include <algorithm>
#include <cmath>

#include "caffe2/core/random.h"

namespace caffe2::testing {

ImageNetBuilder::ImageNetBuilder(Workspace* ws, const std::string& order, bool is_test)
    : ws_(ws), order_(order), is_test_(is_test) {
  net_.set_name("image_net");
}

void ImageNetBuilder::Parameter(const std::string& blob, const std::vector<int64_t>& dims,
                                float low, float high) {
  Tensor* tensor = BlobGetMutableTensor(ws_->CreateBlob(blob), Device{});
  tensor->Resize(dims);
  RandomGenerator random(seed_++);
  float* data = tensor->mutable_data<float>();
  for (int64_t i = 0; i < tensor->numel(); ++i) data[i] = low + (high - low) * random.Uniform();
  net_.add_external_input(blob);
}

OperatorDef* ImageNetBuilder::Add(const std::string& type, const std::vector<std::string>& inputs,
                                  const std::string& output) {
  OperatorDef* op = net_.add_op();
  *op = GradientMakerBase::CreateOperatorDef(type, "", inputs, {output});
  SetArgument(op, "order", order_);
  return op;
}

std::string ImageNetBuilder::Input(const std::string& blob, int batch, int channels, int size) {
  if (order_ == "NHWC")
    Parameter(blob, {batch, size, size, channels}, -1, 1);
  else
    Parameter(blob, {batch, channels, size, size}, -1, 1);
  return blob;
}

std::string ImageNetBuilder::Conv(const std::string& x, const std::string& y, int in, int out,
                                  int kernel, int stride, bool bias) {
  const float bound = std::sqrt(3.f / static_cast<float>(in * kernel * kernel));
  std::vector<int64_t> filter = {out, in, kernel, kernel};
  if (order_ == "NHWC") filter = {out, kernel, kernel, in};
  Parameter(y + "_w", filter, -bound, bound);
  std::vector<std::string> inputs = {x, y + "_w"};
  if (bias) {
    Parameter(y + "_b", {out}, -0.5f, 0.5f);
    inputs.push_back(y + "_b");
  }
  OperatorDef* op = Add("Conv", inputs, y);
  SetArgument(op, "kernel", kernel);
  SetArgument(op, "stride", stride);
  SetArgument(op, "pad", kernel / 2);
  return y;
}

std::string ImageNetBuilder::Norm(const std::string& x, const std::string& y, int channels) {
  Parameter(y + "_s", {channels}, 0.5f, 1.5f);
  Parameter(y + "_b", {channels}, -0.5f, 0.5f);
  Parameter(y + "_rm", {channels}, -0.2f, 0.2f);
  Parameter(y + "_riv", {channels}, 0.5f, 1.5f);
  OperatorDef* op = Add("SpatialBN", {x, y + "_s", y + "_b", y + "_rm", y + "_riv"}, y);
  SetArgument(op, "is_test", is_test_ ? 1 : 0);
  if (!is_test_) {
    for (const char* suffix : {"_rm", "_riv", "_sm", "_siv"}) op->add_output(y + suffix);
  }
  return y;
}

std::string ImageNetBuilder::Relu(const std::string& x, const std::string& y) {
  Add("Relu", {x}, y);
  return y;
}

std::string ImageNetBuilder::Sum(const std::string& a, const std::string& b, const std::string& y) {
  Add("Sum", {a, b}, y);
  return y;
}

std::string ImageNetBuilder::AveragePool(const std::string& x, const std::string& y) {
  SetArgument(Add("AveragePool", {x}, y), "global_pooling", 1);
  return y;
}

std::string ImageNetBuilder::Fc(const std::string& x, const std::string& y, int in, int out) {
  Parameter(y + "_w", {out, in}, -0.3f, 0.3f);
  Parameter(y + "_b", {out}, -0.3f, 0.3f);
  Add("FC", {x, y + "_w", y + "_b"}, y);
  return y;
}

std::string ImageNetBuilder::ResidualBlock(const std::string& x, const std::string& prefix, int in,
                                           int out) {
  std::string y = Conv(x, prefix + "_conv1", in, out, 3);
  y = Relu(Norm(y, prefix + "_bn1", out), prefix + "_bn1");
  y = Norm(Conv(y, prefix + "_conv2", out, out, 3), prefix + "_bn2", out);
  std::string shortcut = x;
  if (in != out) {
    shortcut = Norm(Conv(x, prefix + "_conv0", in, out, 1), prefix + "_bn0", out);
  }
  return Relu(Sum(shortcut, y, prefix + "_sum"), prefix + "_out");
}

ResidualNet::ResidualNet(const std::string& order, bool is_test) : builder(&ws, order, is_test) {
  std::string x = builder.Input("data", 2, 4, 6);
  x = builder.Relu(builder.Norm(builder.Conv(x, "conv", 4, 8, 3), "bn", 8), "bn");
  x = builder.ResidualBlock(x, "a", 8, 8);
  x = builder.ResidualBlock(x, "b", 8, 12);
  builder.Fc(builder.AveragePool(x, "pool"), "fc", 12, 3);
  builder.Add("AveragedLoss", {"fc"}, "loss");
}

std::vector<std::string> TypesOf(const NetDef& net) {
  std::vector<std::string> types;
  for (const OperatorDef& op : net.op()) types.push_back(op.type());
  return types;
}

int CountType(const NetDef& net, const std::string& type) {
  const std::vector<std::string> types = TypesOf(net);
  return static_cast<int>(std::count(types.begin(), types.end(), type));
}

std::vector<float> ValuesOf(const Workspace& ws, const std::string& blob) {
  const Tensor& tensor = ws.GetBlob(blob)->Get<Tensor>();
  std::vector<float> values;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    values.push_back(tensor.IsType<bfloat16>() ? ToFloat(tensor.data<bfloat16>()[i])
                                               : tensor.data<float>()[i]);
  }
  return values;
}

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b, float tolerance,
                 const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  float scale = 1;
  for (const float value : b) scale = std::max(scale, std::abs(value));
  float worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  EXPECT_LE(worst, tolerance * scale) << what;
}

int ExpectSameGradients(const NetDef& net, const Workspace& expected_ws, const Gradients& expected,
                        const Workspace& found_ws, const Gradients& found, float tolerance) {
  int compared = 0;
  for (const std::string& blob : net.external_input()) {
    const auto gradient = expected.find(blob);
    if (gradient == expected.end()) continue;
    const auto other = found.find(blob);
    EXPECT_TRUE(other != found.end()) << blob << " has no gradient";
    if (other == found.end()) continue;
    ExpectClose(ValuesOf(found_ws, other->second.dense),
                ValuesOf(expected_ws, gradient->second.dense), tolerance, blob);
    ++compared;
  }
  return compared;
}

}  // namespace caffe2::testing
