// ResizeNearest, UpsampleNearest and their gradients.
#pragma once

#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/activation/activation_types.h"
#include "operators/image/pixel_map.h"
#include "operators/image/scaled_image.h"

namespace caffe2 {

// The scales, resolved for an image of this shape. Throws EnforceNotMet, naming the argument, for a
// scale that is not a positive number.
struct ResizeShape {
  PixelPlanes planes;
  PixelMap map;
  std::vector<int64_t> output;

  ResizeShape(const std::vector<int64_t>& dims, StorageOrder order, const char* height_argument,
              float height_scale, const char* width_argument, float width_scale);
  // For images that become height x width. Throws EnforceNotMet for sizes outside [1, 2^31).
  ResizeShape(const std::vector<int64_t>& dims, StorageOrder order, int64_t height, int64_t width);

 private:
  void SetOutput(const std::vector<int64_t>& dims, StorageOrder order);
};

// Read the scales of the operators, from arguments or from one more input. kX and kDY are the
// indices of X and dY among the inputs of the gradient operator.
struct ByScales {
  static constexpr int kDY = 0, kX = 1;
  static ResizeShape Make(const ArgumentHelper& arguments, const Tensor* scales,
                          const std::vector<int64_t>& dims) {
    const ImageScales by = ImageScales::Read(arguments, scales);
    return {dims, ReadStorageOrder(arguments), "height_scale", by.height, "width_scale", by.width};
  }
};
struct ByInteger {
  static constexpr int kX = 0, kDY = 1;
  static ResizeShape Make(const ArgumentHelper& arguments, const Tensor*,
                          const std::vector<int64_t>& dims) {
    const auto scale = static_cast<float>(arguments.GetSingleArgument<int>("scale", 2));
    return {dims, ReadStorageOrder(arguments), "scale", scale, "scale", scale};
  }
};

// X -> Y.
template <class Context, class Scale>
class ResizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ResizeOp);
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    Tensor copy(CPU);
    const Tensor* scales =
        InputSize() > 1 ? &OnHost(this->template Input<Tensor>(1), &copy) : nullptr;
    const ResizeShape shape = Scale::Make(ArgumentHelper(this->debug_def()), scales, x.sizes());
    const T* x_data = x.data<T>();
    Tensor* y = Output(0);
    y->Resize(shape.output);
    mover_.Gather(shape.planes, shape.map, 0.f, x_data, y->template mutable_data<T>(), &context_);
    return true;
  }

 private:
  PixelMover<Context> mover_;
};

// dY and X -> dX.
template <class Context, class Scale>
class ResizeGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ResizeGradientOp);
  bool RunOnDevice() override { return ActivationTypes<Context>::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &dy = Input(Scale::kDY), &x = Input(Scale::kX);
    Tensor copy(CPU);
    const Tensor* scales =
        InputSize() > 2 ? &OnHost(this->template Input<Tensor>(2), &copy) : nullptr;
    const ResizeShape shape = Scale::Make(ArgumentHelper(this->debug_def()), scales, x.sizes());
    CAFFE_ENFORCE(dy.sizes() == shape.output, "dY must have the shape of Y, ",
                  ShapeString(shape.output), "; found ", ShapeString(dy.sizes()));
    const T* dy_data = dy.data<T>();
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    mover_.Scatter(shape.planes, shape.map, dy_data, dx->template mutable_data<T>(), &context_);
    return true;
  }

 private:
  PixelMover<Context> mover_;
};

}  // namespace caffe2
