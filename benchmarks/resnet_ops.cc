// What the operators of ResNet-50 at 224 x 224 cost, one by one and in sum.
//
//   resnet_ops [--batch 16] [--dtype float|bfloat16] [--order NHWC|NCHW] [--seconds 0.3]
//   [--verbose]
//
// Prints one JSON object a line: {"case": ..., "unit": ..., "median": ...}. The sums weigh every
// layer with the number of times the network has it:
//   convs_train, convs_infer   images/s of the convolutions alone, with and without gradients (the
//                              first layer needs no gradient of its input)
//   bn_relu_*                  ms an image of batch normalization and Relu, fused and separate
//   pools                      ms an image of both poolings, forward and gradient

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "caffe2/core/random.h"
#include "caffe2/core/workspace.h"
#include "caffe2/utils/program.h"

DEFINE_int32(batch, 16, "images");
DEFINE_string(dtype, "float", "float or bfloat16: of activations; filters stay float");
DEFINE_string(order, "NHWC", "NHWC or NCHW");
DEFINE_double(seconds, 0.3, "time spent on each operator");
DEFINE_bool(verbose, false, "print every layer");

namespace caffe2 {
namespace {

using Seconds = std::map<std::string, double>;  // by operator name

struct Layer {
  int64_t channels, filters, size, kernel, stride;
  int count;
  int64_t out() const { return (size + 2 * (kernel / 2) - kernel) / stride + 1; }
};

// Stride on the 3 x 3 convolution of a block, as Caffe2's model builder does.
std::vector<Layer> ResNet50() {
  std::vector<Layer> layers = {{3, 64, 224, 7, 2, 1}};
  const int blocks[] = {3, 4, 6, 3};
  int64_t channels = 64, size = 56;
  for (int s = 0; s < 4; ++s) {
    const int64_t middle = 64 << s, filters = middle * 4, stride = s ? 2 : 1, small = size / stride;
    layers.push_back({channels, middle, size, 1, 1, 1});
    layers.push_back({channels, filters, size, 1, stride, 1});
    layers.push_back({middle, middle, size, 3, stride, 1});
    layers.push_back({middle, filters, small, 1, 1, blocks[s]});
    layers.push_back({filters, middle, small, 1, 1, blocks[s] - 1});
    layers.push_back({middle, middle, small, 3, 1, blocks[s] - 1});
    channels = filters;
    size = small;
  }
  return layers;
}

std::vector<int64_t> ImageDims(int64_t channels, int64_t size) {
  if (FLAGS_order == "NHWC") return {FLAGS_batch, size, size, channels};
  return {FLAGS_batch, channels, size, size};
}

void FeedRandom(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                bool activation) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize(dims);
  RandomGenerator random(1);
  if (activation && FLAGS_dtype == "bfloat16") {
    bfloat16* data = tensor->mutable_data<bfloat16>();
    for (int64_t i = 0; i < tensor->numel(); ++i) data[i] = ToBFloat16(random.Uniform() - 0.5f);
  } else {
    float* data = tensor->mutable_data<float>();
    for (int64_t i = 0; i < tensor->numel(); ++i) data[i] = random.Uniform() - 0.5f;
  }
}

OperatorDef MakeOp(const std::string& name, const std::string& type,
                   const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   std::vector<Argument> args = {}) {
  args.push_back(MakeArgument<std::string>("order", FLAGS_order));
  return GradientMakerBase::CreateOperatorDef(type, name, inputs, outputs, args);
}

// Median seconds of every operator of the net, run in turn.
Seconds Time(const NetDef& def, Workspace* ws) {
  NetBase* net = ws->CreateNet(def, /*overwrite=*/true);
  CAFFE_ENFORCE(net->Run());
  Seconds result;
  for (int i = 0; i < def.op_size(); ++i) {
    std::vector<double> times;
    double total = 0;
    while (times.size() < 3 || total < FLAGS_seconds) {
      const auto begin = std::chrono::steady_clock::now();
      net->operators()[i]->Run();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      times.push_back(elapsed.count());
      total += elapsed.count();
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    result[def.op(i).name()] = times[times.size() / 2];
  }
  return result;
}

Seconds TimeLayer(const Layer& layer) {
  Workspace ws;
  const bool nhwc = FLAGS_order == "NHWC";
  FeedRandom(&ws, "x", ImageDims(layer.channels, layer.size), true);
  FeedRandom(&ws, "dy", ImageDims(layer.filters, layer.out()), true);
  const int64_t k = layer.kernel;
  FeedRandom(&ws, "w",
             nhwc ? std::vector<int64_t>{layer.filters, k, k, layer.channels}
                  : std::vector<int64_t>{layer.filters, layer.channels, k, k},
             false);
  for (const char* name : {"s", "b", "rm", "rv"}) FeedRandom(&ws, name, {layer.filters}, false);
  const std::vector<Argument> conv = {
      MakeArgument<int64_t>("kernel", k), MakeArgument<int64_t>("pad", k / 2),
      MakeArgument<int64_t>("stride", layer.stride), MakeArgument<int>("no_bias", 1)};
  const std::vector<std::string> bn_in = {"y", "s", "b", "rm", "rv"},
                                 bn_out = {"n", "rm", "rv", "sm", "siv"};
  NetDef net;
  net.set_name("layer");
  *net.add_op() = MakeOp("conv", "Conv", {"x", "w"}, {"y"}, conv);
  std::vector<std::string> gradients = {"dw"};
  if (layer.channels != 3) gradients.push_back("dx");
  *net.add_op() = MakeOp("conv_gradient", "ConvGradient", {"x", "w", "dy"}, gradients, conv);
  *net.add_op() = MakeOp("bn_relu", "SpatialBNRelu", bn_in, bn_out);
  *net.add_op() = MakeOp("bn_relu_gradient", "SpatialBNReluGradient",
                         {"y", "s", "b", "dy", "sm", "siv"}, {"dn", "ds", "db"});
  *net.add_op() = MakeOp("bn", "SpatialBN", bn_in, bn_out);
  *net.add_op() = MakeOp("relu", "Relu", {"n"}, {"n"});
  *net.add_op() = MakeOp("relu_gradient", "ReluGradient", {"n", "dy"}, {"dr"});
  *net.add_op() =
      MakeOp("bn_gradient", "SpatialBNGradient", {"y", "s", "dr", "sm", "siv"}, {"dn", "ds", "db"});
  return Time(net, &ws);
}

Seconds TimePools() {
  Workspace ws;
  FeedRandom(&ws, "x", ImageDims(64, 112), true);
  FeedRandom(&ws, "v", ImageDims(2048, 7), true);
  NetDef net;
  net.set_name("pools");
  const std::vector<Argument> max = {MakeArgument<int>("kernel", 3), MakeArgument<int>("stride", 2),
                                     MakeArgument<int>("pad", 1)};
  const std::vector<Argument> average = {MakeArgument<int>("global_pooling", 1)};
  *net.add_op() = MakeOp("max_pool", "MaxPool", {"x"}, {"y"}, max);
  *net.add_op() = MakeOp("max_pool_gradient", "MaxPoolGradient", {"x", "y", "y"}, {"dx"}, max);
  *net.add_op() = MakeOp("average_pool", "AveragePool", {"v"}, {"u"}, average);
  *net.add_op() =
      MakeOp("average_pool_gradient", "AveragePoolGradient", {"v", "u", "u"}, {"dv"}, average);
  return Time(net, &ws);
}

void Report(const std::string& name, const char* unit, double value) {
  std::printf("{\"case\": \"resnet50_%s/%s/%s/b%d\", \"unit\": \"%s\", \"median\": %.4g}\n",
              name.c_str(), FLAGS_dtype.c_str(), FLAGS_order.c_str(), FLAGS_batch, unit, value);
}

int Run() {
  Seconds sum;
  for (const Layer& layer : ResNet50()) {
    const Seconds one = TimeLayer(layer);
    for (const auto& [name, seconds] : one) sum[name] += seconds * layer.count;
    if (!FLAGS_verbose) continue;
    std::fprintf(stderr, "%dx%d/%d %d->%d @%d x%d:", static_cast<int>(layer.kernel),
                 static_cast<int>(layer.kernel), static_cast<int>(layer.stride),
                 static_cast<int>(layer.channels), static_cast<int>(layer.filters),
                 static_cast<int>(layer.size), layer.count);
    for (const auto& [name, seconds] : one)
      std::fprintf(stderr, " %s %.3f", name.c_str(), seconds * 1e3);
    std::fprintf(stderr, " ms\n");
  }
  const auto milliseconds = [&](double seconds) { return seconds * 1e3 / FLAGS_batch; };
  Report("convs_infer", "img/s", FLAGS_batch / sum["conv"]);
  Report("convs_train", "img/s", FLAGS_batch / (sum["conv"] + sum["conv_gradient"]));
  Report("bn_relu_fused/fwd", "ms/img", milliseconds(sum["bn_relu"]));
  Report("bn_relu_fused/bwd", "ms/img", milliseconds(sum["bn_relu_gradient"]));
  Report("bn_relu_separate/fwd", "ms/img", milliseconds(sum["bn"] + sum["relu"]));
  Report("bn_relu_separate/bwd", "ms/img", milliseconds(sum["bn_gradient"] + sum["relu_gradient"]));
  for (const auto& [name, seconds] : TimePools()) Report(name, "ms/img", milliseconds(seconds));
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Times the layers of ResNet-50.", caffe2::Run);
}
