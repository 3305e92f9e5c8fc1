// PRelu: a rectifier whose slope for negative inputs is learned.
#pragma once

#include <string>

#include "operators/activation/activation_types.h"
#include "operators/activation/prelu_functions.h"
#include "operators/elementwise/binary_op.h"

namespace caffe2 {

// Shared by the forward and the gradient operator.
template <class Context>
class PReluBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PReluBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        order_(this->template GetSingleArgument<std::string>("order", "NCHW")) {
    CAFFE_ENFORCE(order_ == "NCHW" || order_ == "NHWC",
                  "argument order must be NCHW or NHWC, found ", order_);
  }

 protected:
  // X as [outer, channels, inner], with one slope for each channel. If all channels share one
  // slope, `channels` is 1.
  struct Sizes {
    int64_t outer = 1;
    int64_t channels = 1;
    int64_t inner = 1;
    BroadcastPlan Plan() const {
      return MakeBroadcastPlan({outer, channels, inner}, {channels, int64_t{1}});
    }
  };
  // Throws EnforceNotMet naming the shapes if there are not as many slopes as channels.
  Sizes GetSizes(const Tensor& x, const Tensor& slope) const {
    if (slope.numel() == 1) return {.inner = x.numel()};
    CAFFE_ENFORCE(
        x.dim() >= 2,
        "X must have an axis of channels where there is a slope for each channel, found shape ",
        ShapeString(x.sizes()));
    const int axis = order_ == "NCHW" ? 1 : x.dim() - 1;
    CAFFE_ENFORCE(slope.numel() == x.size(axis),
                  "Slope must have one element, or one for each channel: Slope has shape ",
                  ShapeString(slope.sizes()), ", X ", ShapeString(x.sizes()), " in order ", order_);
    return {x.size_to_dim(axis), x.size(axis), x.size_from_dim(axis + 1)};
  }

 private:
  std::string order_;
};

// Y = X where X > 0, else slope * X
template <class Context>
class PReluOp final : public PReluBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PReluBase<Context>::PReluBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &slope = Input(1);
    const BroadcastPlan plan = this->GetSizes(X, slope).Plan();
    const T* x = X.data<T>();
    const float* factors = slope.data<float>();
    Output(0)->ResizeLike(X);
    MapBroadcast(PReluFunction(), plan, x, factors, Output(0)->template mutable_data<T>(),
                 &context_);
    return true;
  }
};

// dX = dY where X > 0, else slope * dY; d_slope = sum of X * dY over the X <= 0 of the channel
template <class Context>
class PReluGradientOp final : public PReluBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PReluBase<Context>::PReluBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(1).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(1), &slope = Input(2), &dY = Input(3);
    const auto sizes = this->GetSizes(X, slope);
    CAFFE_ENFORCE(dY.numel() == X.numel(), "dY must have as many elements as X: dY has shape ",
                  ShapeString(dY.sizes()), ", X ", ShapeString(X.sizes()));
    const T *x = X.data<T>(), *dy = dY.data<T>();
    const float* factors = slope.data<float>();
    Output(0)->ResizeLike(X);  // it may overwrite dY
    Output(1)->ResizeLike(slope);
    Derive(sizes, x, factors, dy, Output(0)->template mutable_data<T>(),
           Output(1)->template mutable_data<float>());
    return true;
  }

 private:
  // The sums d_slope do not go through SumDerivative (binary_op.h): they are float also for
  // bfloat16, of terms in double, which SumDerivative would round to float and keep in a tensor as
  // large as X. On a device it has one block for each slope, and often there is one slope; here up
  // to 64 blocks share a channel, and write dX in the same pass.
  template <typename T>
  void Derive(const typename PReluBase<Context>::Sizes& s, const T* x, const float* slope,
              const T* dy, T* dx, float* d_slope);
};

}  // namespace caffe2
