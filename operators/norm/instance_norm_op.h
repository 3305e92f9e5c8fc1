// InstanceNorm (Ulyanov et al., 2016): normalizes each channel of each image, then applies a
// learned scale and offset. X, scale [C], bias [C] -> Y, [mean [N, C], inv_stdev [N, C]].
#pragma once

#include <string>

#include "operators/activation/activation_types.h"

namespace caffe2 {

// Shared by the forward and the gradient operator: their arguments and the layout.
template <class Context>
class InstanceNormBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  InstanceNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)),
        order_(this->template GetSingleArgument<std::string>("order", "NCHW")) {
    CAFFE_ENFORCE(epsilon_ >= 0, "argument epsilon must not be negative, found ", epsilon_);
    CAFFE_ENFORCE(order_ == "NCHW" || order_ == "NHWC",
                  "argument order must be NCHW or NHWC, found ", order_);
  }

 protected:
  // Element i of channel c of image n lies at (n * channels * size) + c * channel_stride + i *
  // stride.
  struct Layout {
    int64_t images = 0;
    int64_t channels = 0;
    int64_t size = 0;  // elements of one channel of one image
    int64_t channel_stride = 0;
    int64_t stride = 0;
  };
  // Throws EnforceNotMet unless scale and bias have one element for each channel.
  Layout GetLayout(const Tensor& x, const Tensor& scale, const Tensor& bias) const {
    CAFFE_ENFORCE(x.dim() >= 3, "X must have at least three axes, found shape ",
                  ShapeString(x.sizes()));
    const bool nchw = order_ == "NCHW";
    const int64_t channels = x.size(nchw ? 1 : -1);
    CAFFE_ENFORCE(scale.numel() == channels && bias.numel() == channels,
                  "scale and bias must have one element for each of the ", channels,
                  " channels of X in order ", order_, ": scale has shape ",
                  ShapeString(scale.sizes()), ", bias ", ShapeString(bias.sizes()), ", X ",
                  ShapeString(x.sizes()));
    int64_t size = 1;
    for (int axis = 1; axis < x.dim(); ++axis)
      size *= axis == (nchw ? 1 : x.dim() - 1) ? 1 : x.size(axis);
    return {x.size(0), channels, size, nchw ? size : 1, nchw ? 1 : channels};
  }

  float epsilon_;

 private:
  std::string order_;
};

template <class Context>
class InstanceNormOp final : public InstanceNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using InstanceNormBase<Context>::InstanceNormBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();
};

template <class Context>
class InstanceNormGradientOp final : public InstanceNormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using InstanceNormBase<Context>::InstanceNormBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType();
};

}  // namespace caffe2
