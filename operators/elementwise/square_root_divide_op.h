// SquareRootDivide: divides row i of X [N, ...] by sqrt(scale[i]); rows whose scale is not positive
// stay. X is float; scale [N] is float, int32 or int64.
#pragma once

#include "operators/common/element_type.h"
#include "operators/common/host_device_op.h"
#include "operators/elementwise/transform_functions.h"

namespace caffe2 {

template <class Context>
class SquareRootDivideOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SquareRootDivideOp);
  bool RunOnDevice() override {
    return TensorTypes<float, int32_t, int64_t>::Dispatch(this, Input(1).dtype());
  }
  template <typename S>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &scale = Input(1);
    CAFFE_ENFORCE(X.dim() >= 1 && scale.numel() == X.size(0),
                  "scale must have one element for each row of the data: scale has shape ",
                  ShapeString(scale.sizes()), ", the data ", ShapeString(X.sizes()));
    const float* x = X.data<float>();
    Output(0)->ResizeLike(X);
    ForEach(X.numel(),
            RootDivideElements<S>{X.size_from_dim(1), x, scale.template data<S>(),
                                  Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }
};

}  // namespace caffe2
