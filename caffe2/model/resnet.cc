#include <map>
#include <string>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/networks.h"

namespace caffe2 {
namespace {

// Adds residual blocks one after another, with the blob names of Caffe2's ResNetBuilder: block b
// has comp_b_conv_1, comp_b_spatbn_1, ..., shortcut_projection_b and comp_b_sum_n.
class ResNetBuilder {
 public:
  ResNetBuilder(ModelHelper* model, const std::string& blob, const NetworkOptions& options)
      : model_(model), blob_(blob), options_(options) {}

  const std::string& blob() const { return blob_; }

  // 1x1, 3x3 (with the stride), 1x1, and the shortcut.
  void AddBottleneck(int input_filters, int base_filters, int output_filters, bool downsample) {
    const std::string input = blob_;
    layer_ = 0;
    AddConv(input_filters, base_filters, {.kernel = 1});
    AddRelu();
    AddConv(base_filters, base_filters, {.kernel = 3, .stride = downsample ? 2 : 1, .pad = 1});
    AddRelu();
    AddConv(base_filters, output_filters, {.kernel = 1}, options_.residual_scale);
    AddShortcut(input, input_filters, output_filters, downsample);
  }

  // 3x3 without a shortcut, then a 2x2 pool.
  void AddPooledConv(int input_filters, int filters) {
    layer_ = 0;
    AddConv(input_filters, filters, {.kernel = 3, .pad = 1});
    AddRelu();
    blob_ = brew::MaxPool(model_, blob_, MakeString("comp_", block_, "_pool"),
                          {.kernel = 2, .stride = 2});
    ++block_;
  }

  // 3x3 (with the stride), 3x3, and the shortcut.
  void AddSimpleBlock(int input_filters, int filters, bool downsample) {
    const std::string input = blob_;
    layer_ = 0;
    AddConv(input_filters, filters, {.kernel = 3, .stride = downsample ? 2 : 1, .pad = 1});
    AddRelu();
    AddConv(filters, filters, {.kernel = 3, .pad = 1}, options_.residual_scale);
    AddShortcut(input, input_filters, filters, downsample);
  }

 private:
  struct Window {
    int kernel = 1;
    int stride = 1;
    int pad = 0;
  };

  // Convolution without bias, then batch normalization.
  void AddConv(int in, int out, const Window& window, float scale = 1.f) {
    ++layer_;
    blob_ = AddConvAndNorm(blob_, MakeString("comp_", block_, "_conv_", layer_),
                           MakeString("comp_", block_, "_spatbn_", layer_), in, out, window, scale);
  }

  std::string AddConvAndNorm(const std::string& input, const std::string& conv,
                             const std::string& norm, int in, int out, const Window& window,
                             float scale = 1.f) {
    const std::string blob = brew::Conv(
        model_, input, conv, in, out, window.kernel,
        {.stride = window.stride, .pad = window.pad, .no_bias = true, .weight_init = "MSRAFill"});
    return brew::SpatialBN(model_, blob, norm, out,
                           {.momentum = options_.bn_momentum, .initial_scale = scale});
  }

  void AddRelu() { blob_ = brew::Relu(model_, blob_, blob_); }

  // A shortcut whose shape must change goes through a 1x1 convolution.
  void AddShortcut(const std::string& input, int in, int out, bool downsample) {
    std::string shortcut = input;
    if (in != out || downsample) {
      const std::string name = MakeString("shortcut_projection_", block_);
      shortcut = AddConvAndNorm(input, name, name + "_spatbn", in, out,
                                {.kernel = 1, .stride = downsample ? 2 : 1});
    }
    blob_ = brew::Sum(model_, {shortcut, blob_}, MakeString("comp_", block_, "_sum_", layer_));
    AddRelu();
    ++block_;
  }

  ModelHelper* model_;
  std::string blob_;
  const NetworkOptions& options_;
  int block_ = 0;
  int layer_ = 0;
};

// Adds the stem. Its normalization and Relu share the blob conv1_spatbn_relu.
std::string AddStem(ModelHelper* model, const std::string& data, int filters,
                    const NetworkOptions& options) {
  const bool large = !options.small_stem;
  std::string blob = brew::Conv(model, data, "conv1", options.num_channels, filters, large ? 7 : 3,
                                {.stride = large ? 2 : 1,
                                 .pad = large ? 3 : 1,
                                 .no_bias = true,
                                 .no_gradient_to_input = true,
                                 .weight_init = "MSRAFill"});
  blob =
      brew::SpatialBN(model, blob, "conv1_spatbn_relu", filters, {.momentum = options.bn_momentum});
  blob = brew::Relu(model, blob, blob);
  if (!large) return blob;
  return brew::MaxPool(model, blob, "pool1", {.kernel = 3, .stride = 2});
}

std::string AddHead(ModelHelper* model, const std::string& blob, int filters,
                    const NetworkOptions& options) {
  const std::string average = brew::AveragePool(model, blob, "final_avg", {.global_pooling = true});
  return brew::FC(model, average, MakeString("last_out_L", options.num_labels), filters,
                  options.num_labels);
}

struct ResNetShape {
  bool bottleneck;
  std::vector<int> blocks;  // in each of the four groups
};

const ResNetShape& ShapeOfDepth(int depth) {
  static const std::map<int, ResNetShape> shapes = {
      {18, {false, {2, 2, 2, 2}}},  {34, {false, {3, 4, 6, 3}}},  {50, {true, {3, 4, 6, 3}}},
      {101, {true, {3, 4, 23, 3}}}, {152, {true, {3, 8, 36, 3}}},
  };
  const auto found = shapes.find(depth);
  CAFFE_ENFORCE(found != shapes.end(), "no residual network of depth ", depth,
                "; known: 18, 34, 50, 101, 152");
  return found->second;
}

}  // namespace

std::string AddResNet(ModelHelper* model, int depth, const std::string& data,
                      const NetworkOptions& options) {
  const ResNetShape& shape = ShapeOfDepth(depth);
  const int expansion = shape.bottleneck ? 4 : 1;
  ResNetBuilder builder(model, AddStem(model, data, 64, options), options);
  int filters = 64;
  for (size_t group = 0; group < shape.blocks.size(); ++group) {
    const int base = 64 << group;
    for (int block = 0; block < shape.blocks[group]; ++block) {
      const bool downsample = group > 0 && block == 0;
      if (shape.bottleneck) {
        builder.AddBottleneck(filters, base, base * expansion, downsample);
      } else {
        builder.AddSimpleBlock(filters, base, downsample);
      }
      filters = base * expansion;
    }
  }
  return AddHead(model, builder.blob(), filters, options);
}

std::string AddResNet32x32(ModelHelper* model, int blocks, const std::string& data,
                           const NetworkOptions& options) {
  NetworkOptions small = options;
  small.small_stem = true;
  ResNetBuilder builder(model, AddStem(model, data, 16, small), options);
  int filters = 16;
  for (int group = 0; group < 3; ++group) {
    for (int block = 0; block < blocks; ++block) {
      const int out = 16 << group;
      builder.AddSimpleBlock(filters, out, group > 0 && block == 0);
      filters = out;
    }
  }
  return AddHead(model, builder.blob(), filters, options);
}

std::string AddResNet9(ModelHelper* model, const std::string& data, const NetworkOptions& options) {
  constexpr float kScoreScale = 0.125f;
  CAFFE_ENFORCE(options.image_size >= 8, "resnet9_cifar needs images of at least ", 8, " x ", 8,
                " pixels, found ", options.image_size);
  NetworkOptions small = options;
  small.small_stem = true;
  ResNetBuilder builder(model, AddStem(model, data, 64, small), small);
  builder.AddPooledConv(64, 128);
  builder.AddSimpleBlock(128, 128, /*downsample=*/false);
  builder.AddPooledConv(128, 256);
  builder.AddPooledConv(256, 512);
  builder.AddSimpleBlock(512, 512, /*downsample=*/false);
  const std::string pooled =
      brew::MaxPool(model, builder.blob(), "final_max", {.global_pooling = true});
  const std::string name = MakeString("last_out_L", options.num_labels);
  const std::string scores = brew::FC(model, pooled, name, 512, options.num_labels);
  const std::string scaled = model->Scoped(name + "_scaled");
  model->AddOperator("Scale", {scores}, {scaled}, {MakeArgument("scale", kScoreScale)});
  return scaled;
}

}  // namespace caffe2
