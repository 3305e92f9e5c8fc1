// Glu: the gated linear unit.
#pragma once

#include "operators/activation/glu_functions.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {

// Y = A s(B), where A and B are the halves of X along an axis.
template <class Context>
class GluOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  GluOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axis_(this->template GetSingleArgument<int>("dim", -1)) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const int axis = X.canonical_axis_index(axis_);
    CAFFE_ENFORCE(X.size(axis) % 2 == 0, "axis ", axis, " of X ", ShapeString(X.sizes()),
                  " cannot be halved");
    std::vector<int64_t> dims = X.sizes();
    dims[axis] /= 2;
    const T* x = X.data<T>();
    Output(0)->Resize(dims);
    T* y = Output(0)->template mutable_data<T>();
    const int64_t half = X.size_from_dim(axis) / 2;
    ForEachRow(X.size_to_dim(axis), half, GluRows<T>{half, x, y}, &context_);
    return true;
  }

 private:
  int axis_;
};

}  // namespace caffe2
