// ArgMax and ArgMin: X -> int64, the position of the largest or smallest element along an axis; the
// first of equal ones.
#pragma once

#include <vector>

#include "operators/common/element_type.h"
#include "operators/common/host_device_op.h"
#include "operators/reduce/selection_functions.h"

namespace caffe2 {

template <class Context, bool kMax>
class ArgOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ArgOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        axis_(this->template GetSingleArgument<int>("axis", -1)),
        keepdims_(this->template GetSingleArgument<int>("keepdims", 1) != 0) {}

  bool RunOnDevice() override { return NumericTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const int axis = x.canonical_axis_index(axis_);
    const int64_t n = x.size(axis);
    CAFFE_ENFORCE(n > 0 || x.numel() != 0 || x.size_to_dim(axis) * x.size_from_dim(axis + 1) == 0,
                  "axis ", axis, " of X ", ShapeString(x.sizes()), " is empty");
    std::vector<int64_t> dims = x.sizes();
    if (keepdims_) {
      dims[axis] = 1;
    } else {
      dims.erase(dims.begin() + axis);
    }
    const T* x_data = x.data<T>();
    Tensor* indices = Output(0);
    indices->Resize(dims);
    const int64_t inner = x.size_from_dim(axis + 1);
    // If lines are interleaved, each thread handles a whole line.
    ForEachRow(indices->numel(), inner < 32 ? n : 1,
               FindExtreme<kMax, T>{{n, inner}, x_data, indices->template mutable_data<int64_t>()},
               &context_);
    return true;
  }

 private:
  int axis_;
  bool keepdims_;
};

}  // namespace caffe2
