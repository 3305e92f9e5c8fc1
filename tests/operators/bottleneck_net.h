// A small net of bottleneck blocks, with and without a projection, as ResNet-50 has them.
#pragma once

#include <string>

#include "caffe2/model/layers.h"

namespace caffe2::testing {

class BottleneckBuilder {
 public:
  BottleneckBuilder(ModelHelper* model, int width) : model_(model), width_(width) {}

  // Convolution without bias, then batch normalization.
  std::string Layer(const std::string& x, const std::string& name, int in, int out, int kernel) {
    const std::string conv = brew::Conv(model_, x, name + "_conv", in, out, kernel,
                                        {.pad = kernel / 2, .no_bias = true});
    return brew::SpatialBN(model_, conv, name, out);
  }
  std::string Block(const std::string& x, const std::string& name, int in, int out) {
    std::string y = brew::Relu(model_, Layer(x, name + "1", in, width_, 1), name + "1_relu");
    y = brew::Relu(model_, Layer(y, name + "2", width_, width_, 3), name + "2_relu");
    y = Layer(y, name + "3", width_, out, 1);
    const std::string shortcut = in == out ? x : Layer(x, name + "0", in, out, 1);
    return brew::Relu(model_, brew::Sum(model_, {y, shortcut}, name + "_sum"), name + "_out");
  }

 private:
  ModelHelper* model_;
  const int width_;
};

// Four blocks, of which the first and the third have a projection, on images of `channels`; returns
// the scores of `labels`.
inline std::string AddBottlenecks(ModelHelper* model, const std::string& data, int channels,
                                  int labels) {
  constexpr int kWidth = 16;
  BottleneckBuilder builder(model, kWidth);
  std::string x = brew::Relu(model, builder.Layer(data, "stem", channels, kWidth, 3), "stem_relu");
  x = builder.Block(x, "a", kWidth, 2 * kWidth);
  x = builder.Block(x, "b", 2 * kWidth, 2 * kWidth);
  x = builder.Block(x, "c", 2 * kWidth, 3 * kWidth);
  x = builder.Block(x, "d", 3 * kWidth, 3 * kWidth);
  x = brew::AveragePool(model, x, "pool", {.global_pooling = true});
  return brew::FC(model, x, "scores", 3 * kWidth, labels);
}

}  // namespace caffe2::testing
