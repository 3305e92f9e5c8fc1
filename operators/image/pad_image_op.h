// PadImage and its gradient.
#pragma once

#include <vector>

#include "operators/activation/activation_types.h"
#include "operators/image/pixel_map.h"

namespace caffe2 {

// The arguments, resolved for an image of this shape.
struct PadImageShape {
  PixelPlanes planes;
  PixelMap map;
  std::vector<int64_t> output;

  static PadImageShape Make(const ArgumentHelper& arguments, const std::vector<int64_t>& dims);
  // The shape of X from the shape of dY: smaller by the pads.
  static std::vector<int64_t> InputDims(const ArgumentHelper& arguments,
                                        const std::vector<int64_t>& dy_dims);
};

// X -> Y.
template <class Context>
class PadImageOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  PadImageOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), value_(this->template GetSingleArgument<float>("value", 0.f)) {}

  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const auto shape = PadImageShape::Make(ArgumentHelper(this->debug_def()), x.sizes());
    const T* x_data = x.data<T>();
    Tensor* y = Output(0);
    y->Resize(shape.output);
    mover_.Gather(shape.planes, shape.map, value_, x_data, y->template mutable_data<T>(),
                  &context_);
    return true;
  }

 private:
  const float value_;
  PixelMover<Context> mover_;
};

// dY -> dX. The size of X follows from the pads.
template <class Context>
class PadImageGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(PadImageGradientOp);
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& dy = Input(0);
    const ArgumentHelper arguments(this->debug_def());
    const std::vector<int64_t> dims = PadImageShape::InputDims(arguments, dy.sizes());
    const auto shape = PadImageShape::Make(arguments, dims);
    const T* dy_data = dy.data<T>();
    Tensor* dx = Output(0);
    dx->Resize(dims);
    mover_.Scatter(shape.planes, shape.map, dy_data, dx->template mutable_data<T>(), &context_);
    return true;
  }

 private:
  PixelMover<Context> mover_;
};

}  // namespace caffe2
