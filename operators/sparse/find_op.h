// Find: index, query -> for each query its last position in the list `index`, or the argument
// missing_value.
#pragma once

#include "operators/common/element_type.h"

namespace caffe2 {

// y[i] = the last position of query[i] among n values, or `missing`. The last argument chooses the
// overload for the device.
template <typename T>
void FindLast(int64_t n, const T* values, int64_t queries, const T* query, T missing, T* y,
              CPUContext* context);

// Inputs index, query.
template <class Context>
class FindOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(FindOp);
  bool RunOnDevice() override { return IntegerTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &index = Input(0), &query = Input(1);
    const T *values = index.data<T>(), *wanted = query.data<T>();
    const T missing = this->template GetSingleArgument<T>("missing_value", -1);
    Output(0)->ResizeLike(query);
    FindLast(index.numel(), values, query.numel(), wanted, missing,
             Output(0)->template mutable_data<T>(), &context_);
    return true;
  }
};

}  // namespace caffe2
