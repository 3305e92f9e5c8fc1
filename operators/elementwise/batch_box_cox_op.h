// BatchBoxCox: the Box-Cox transform of each column of X [N, D], with lambda1 [D] and lambda2 [D].
// X, lambda1, lambda2 -> Y, all float or all double. Throws EnforceNotMet for other sizes.
#pragma once

#include "operators/common/element_type.h"
#include "operators/common/host_device_op.h"
#include "operators/elementwise/transform_functions.h"

namespace caffe2 {

template <class Context>
class BatchBoxCoxOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BatchBoxCoxOp);
  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &L1 = Input(1), &L2 = Input(2);
    CAFFE_ENFORCE(X.dim() >= 1, "the data must have at least one axis, found a scalar");
    const int64_t columns = X.size_from_dim(1);
    CAFFE_ENFORCE(L1.numel() == columns && L2.numel() == columns,
                  "lambda1 and lambda2 must have one element for each of the ", columns,
                  " columns of the data: lambda1 has shape ", ShapeString(L1.sizes()), ", lambda2 ",
                  ShapeString(L2.sizes()), ", the data ", ShapeString(X.sizes()));
    const T *x = X.template data<T>(), *lambda1 = L1.template data<T>(),
            *lambda2 = L2.template data<T>();
    Output(0)->ResizeLike(X);
    ForEach(X.numel(),
            BoxCoxElements<T>{columns, x, lambda1, lambda2, Output(0)->template mutable_data<T>()},
            &context_);
    return true;
  }
};

}  // namespace caffe2
