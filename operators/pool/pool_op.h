// MaxPool and AveragePool: shared by their forward and gradient operators on all devices.
#pragma once

#include <algorithm>

#include "operators/activation/activation_types.h"
#include "operators/conv/conv_pool_shape.h"
#include "operators/pool/pool_kernels.h"

namespace caffe2 {

// The window of a pooling on an image of these dimensions. Throws EnforceNotMet unless the image
// has spatial axes, pads are less than the kernel and dilation is 1.
inline Window ResolvePool(const WindowArguments& arguments, const ImageShape& x) {
  CAFFE_ENFORCE(!x.spatial.empty(), "the input must be images with spatial axes");
  const Window window = arguments.Resolve(x.spatial);
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t pad = std::max(window.pad_begin[i], window.pad_end[i]);
    CAFFE_ENFORCE(pad < window.kernel[i], "the pad of axis ", i, " is ", pad,
                  ", which is not less than the kernel ", window.kernel[i]);
    CAFFE_ENFORCE(window.dilation[i] == 1, "pooling does not take the argument dilation, found ",
                  window.dilation[i]);
  }
  return window;
}

// Shape inference of a pooling.
inline std::vector<TensorShape> InferPool(const OperatorDef& def,
                                          const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape()) return {UnknownTensorShape()};
  const WindowArguments arguments{ArgumentHelper(def)};
  const ImageShape x = ImageShape::FromDims(GetDimsVector(inputs[0]), arguments.order());
  const Window window = ResolvePool(arguments, x);
  const ImageShape y{x.batch, x.channels, window.output};
  return {CreateTensorShape(y.ToDims(arguments.order()), inputs[0].data_type())};
}

// One operation for each tap of every window.
OpSchema::Cost CostOfPool(const OperatorDef& def, const std::vector<TensorShape>& inputs);

// Shared by the operators and their gradients. Prepare computes the shapes of a run, anew only if X
// has another shape than in the run before; it throws EnforceNotMet if window and image do not fit.
template <class Context>
class PoolOpBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PoolOpBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        arguments_(ArgumentHelper(def)),
        count_include_pad_(this->template GetSingleArgument<bool>("count_include_pad", false)) {}

 protected:
  void Prepare(const Tensor& x) {
    if (prepared_ && x.sizes() == x_dims_) return;
    const ImageShape image = ImageShape::FromDims(x.sizes(), arguments_.order());
    const Window window = ResolvePool(arguments_, image);
    shape_ = PoolShape::Make(image, window, arguments_.channels_last(), count_include_pad_);
    y_dims_ = ImageShape{image.batch, image.channels, window.output}.ToDims(arguments_.order());
    x_dims_ = x.sizes();
    prepared_ = true;
  }

  const WindowArguments arguments_;
  const bool count_include_pad_;
  bool prepared_ = false;  // for X of shape x_dims_
  PoolShape shape_;
  std::vector<int64_t> x_dims_, y_dims_;
};

// Overloads of Pool and PoolGradient, chosen by the last parameter, the context, do the work on its
// device.
template <class Context, PoolKind kKind>
class PoolOp final : public PoolOpBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PoolOpBase<Context>::PoolOpBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    this->Prepare(x);
    Tensor* y = Output(0);
    y->Resize(this->y_dims_);
    Pool(kKind, this->shape_, x.data<T>(), y->template mutable_data<T>(), &context_);
    return true;
  }
};

template <class Context, PoolKind kKind>
class PoolGradientOp final : public PoolOpBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using PoolOpBase<Context>::PoolOpBase;
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &y = Input(1), &dy = Input(2);
    this->Prepare(x);
    CAFFE_ENFORCE(y.sizes() == this->y_dims_ && dy.sizes() == this->y_dims_,
                  "Y and dY must have shape ", ShapeString(this->y_dims_), ", found ",
                  ShapeString(y.sizes()), " and ", ShapeString(dy.sizes()));
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    PoolGradient(kKind, this->shape_, x.data<T>(), y.data<T>(), dy.data<T>(),
                 dx->template mutable_data<T>(), &context_);
    return true;
  }
};

}  // namespace caffe2
