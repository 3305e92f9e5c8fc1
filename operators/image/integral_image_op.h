// IntegralImage and its gradient. host_device_op.h or host_device_cuda.h runs the functors.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "operators/image/integral_image_functions.h"

namespace caffe2 {

inline PlaneSize PlanesOf(const Tensor& x) {
  CAFFE_ENFORCE(x.dim() == 4, "X must have four axes, found shape ", ShapeString(x.sizes()));
  return {x.size(2), x.size(3)};
}
inline std::vector<int64_t> IntegralDims(std::vector<int64_t> dims) {
  CAFFE_ENFORCE(dims.size() == 4, "X must have four axes, found shape ", ShapeString(dims));
  ++dims[2];
  ++dims[3];
  return dims;
}

// Y[i, j] = sum of X[h, w] over h < i and w < j
template <class Context>
class IntegralImageOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(IntegralImageOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const PlaneSize size = PlanesOf(X);
    const int64_t planes = X.size(0) * X.size(1);
    const float* x = X.data<float>();
    Output(0)->Resize(IntegralDims(X.sizes()));
    float* y = Output(0)->template mutable_data<float>();
    ForEach(planes * (size.height + 1), IntegrateRows{size, x, y}, &context_);
    ForEach(planes * (size.width + 1),
            SumDownColumns{size.height + 1, size.width + 1, /*upward=*/false, y}, &context_);
    return true;
  }
};

// dX[h, w] = sum of dY[i, j] over i > h and j > w with the argument `exact`; without it, as in
// Caffe2, over i <= h and j <= w.
template <class Context>
class IntegralImageGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  IntegralImageGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        exact_(this->template GetSingleArgument<bool>("exact", false)) {}
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(1);
    const PlaneSize size = PlanesOf(X);
    const int64_t planes = X.size(0) * X.size(1);
    CAFFE_ENFORCE(dY.sizes() == IntegralDims(X.sizes()), "dY must have the shape ",
                  ShapeString(IntegralDims(X.sizes())), ", found ", ShapeString(dY.sizes()));
    const float* dy = dY.data<float>();
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->template mutable_data<float>();
    ForEach(size.width > 0 ? planes * size.height : 0, GatherRowSums{size, exact_, dy, dx},
            &context_);
    ForEach(size.height > 0 ? planes * size.width : 0,
            SumDownColumns{size.height, size.width, exact_, dx}, &context_);
    return true;
  }

 private:
  const bool exact_;
};

}  // namespace caffe2
