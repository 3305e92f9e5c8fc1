// AffineChannel: Y = X * scale + bias with a scale and a bias for each channel of an image, like a
// batch normalization with fixed statistics. X, scale [C], bias [C] -> Y.
#pragma once

#include "operators/activation/activation_types.h"
#include "operators/norm/spatial_bn_kernels.h"

namespace caffe2 {

// Shared by the forward and the gradient operator. Overloads of these functions, chosen by the last
// argument, do the work on the device:
//   ScaleChannels       y = x * scale[channel] + bias[channel]; bias may be null
//   SumChannelProducts  the sums of g * x and of g over each channel
template <class Context>
class AffineChannelBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AffineChannelBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), order_(ReadStorageOrder(ArgumentHelper(def))) {}

 protected:
  // The shape of an image; throws unless `values` has one float for each channel.
  ChannelShape CheckShapes(const Tensor& image, const Tensor& values, const char* name) const {
    const ChannelShape shape = ChannelShapeOf(image.sizes(), order_);
    CAFFE_ENFORCE(values.numel() == shape.channels, name,
                  " must have one element for each channel of the image: ", name, " has shape ",
                  ShapeString(values.sizes()), ", the image ", ShapeString(image.sizes()));
    return shape;
  }

 private:
  StorageOrder order_;
};

template <class Context>
class AffineChannelOp final : public AffineChannelBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using AffineChannelBase<Context>::AffineChannelBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &scale = Input(1), &bias = Input(2);
    const ChannelShape shape = this->CheckShapes(X, scale, "scale");
    this->CheckShapes(X, bias, "bias");
    const T* x = X.data<T>();
    Output(0)->ResizeLike(X);
    ScaleChannels(shape, x, scale.data<float>(), bias.data<float>(),
                  Output(0)->template mutable_data<T>(), &context_);
    return true;
  }
};

// dX = dY scale. With the argument is_learnable also d_scale = sum of dY X, d_bias = sum of dY.
// Inputs dY, [X if is_learnable], scale.
template <class Context>
class AffineChannelGradientOp final : public AffineChannelBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AffineChannelGradientOp(const OperatorDef& def, Workspace* ws)
      : AffineChannelBase<Context>(def, ws),
        learned_(this->template GetSingleArgument<bool>("is_learnable", false)) {
    CAFFE_ENFORCE(InputSize() == (learned_ ? 3 : 2) && OutputSize() == (learned_ ? 3 : 1),
                  "with is_learnable there are 3 inputs and 3 outputs, without 2 and 1, not ",
                  InputSize(), " and ", OutputSize());
  }
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &scale = Input(InputSize() - 1);
    const ChannelShape shape = this->CheckShapes(dY, scale, "scale");
    const T* dy = dY.data<T>();
    if (learned_) SumProducts(shape, dy);
    Output(0)->ResizeLike(dY);
    ScaleChannels<T>(shape, dy, scale.data<float>(), nullptr, Output(0)->template mutable_data<T>(),
                     &context_);
    return true;
  }

 private:
  template <typename T>
  void SumProducts(const ChannelShape& shape, const T* dy) {
    const Tensor& X = Input(1);
    CAFFE_ENFORCE(X.sizes() == Input(0).sizes(), "dY must have the shape of X: dY has shape ",
                  ShapeString(Input(0).sizes()), ", X ", ShapeString(X.sizes()));
    for (int i : {1, 2}) Output(i)->Resize(shape.channels);
    SumChannelProducts(shape, X.data<T>(), dy, Output(1)->template mutable_data<float>(),
                       Output(2)->template mutable_data<float>(), &context_);
  }

  bool learned_;
};

}  // namespace caffe2
