// Where: chooses between two tensors, element by element or row by row.
#pragma once

#include <string>

#include "operators/common/element_type.h"

namespace caffe2 {

// Text exists in host memory only.
template <class Context>
using WhereTypes =
    std::conditional_t<Context::kDeviceType == CPU,
                       TensorTypes<float, double, int32_t, int64_t, std::string, bool>,
                       TensorTypes<float, double, int32_t, int64_t, bool>>;

// An overload of Select, chosen by its last argument, does the work on the device: row i of z, of
// `row` elements, is row i of x if choose[i], else row i of y.
template <class Context>
class WhereOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  WhereOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        on_rows_(this->template GetSingleArgument<bool>("broadcast_on_rows", false)) {}

  bool RunOnDevice() override { return WhereTypes<Context>::Dispatch(this, Input(1).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &condition = Input(0), &X = Input(1), &Y = Input(2);
    CAFFE_ENFORCE(X.sizes() == Y.sizes(), "X and Y must have the same shape: X has shape ",
                  ShapeString(X.sizes()), ", Y ", ShapeString(Y.sizes()));
    if (on_rows_) {
      CAFFE_ENFORCE(condition.dim() == 1 && X.dim() >= 1 && condition.numel() == X.size(0),
                    "the condition must have one element for each row, but its shape is ",
                    ShapeString(condition.sizes()), " for rows of ", ShapeString(X.sizes()));
    } else {
      CAFFE_ENFORCE(condition.sizes() == X.sizes(), "the condition has shape ",
                    ShapeString(condition.sizes()), ", X has ", ShapeString(X.sizes()));
    }
    const bool* choose = condition.data<bool>();
    const T *x = X.data<T>(), *y = Y.data<T>();
    Tensor* Z = Output(0);
    Z->ResizeLike(X);
    T* z = Z->template mutable_data<T>();
    if (condition.numel() == 0) return true;
    Select(condition.numel(), X.numel() / condition.numel(), choose, x, y, z, &context_);
    return true;
  }

 private:
  bool on_rows_;
};

}  // namespace caffe2
