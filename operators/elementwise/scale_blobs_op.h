// ScaleBlobs: multiplies float tensors X_k -> Y_k, of any shapes, by the argument `scale` (default
// 1). host_device_op.h or host_device_cuda.h runs the functor.
#pragma once

#include "caffe2/core/operator.h"
#include "operators/elementwise/scale_op.h"

namespace caffe2 {

template <class Context>
class ScaleBlobsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ScaleBlobsOp(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws), scale_(*this) {}
  bool RunOnDevice() override {
    for (int k = 0; k < InputSize(); ++k) {
      const Tensor& X = Input(k);
      const float* x = X.data<float>();
      Output(k)->ResizeLike(X);
      MapElements(scale_, X.numel(), &context_, Output(k)->template mutable_data<float>(), x);
    }
    return true;
  }

 private:
  const ScaleFunction scale_;
};

}  // namespace caffe2
