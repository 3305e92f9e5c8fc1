// Find, and the checks of Conditional on all devices.
#pragma once

#include "operators/common/element_type.h"

namespace caffe2 {

// Throws EnforceNotMet unless both tensors have the same shape and type and each row has a
// condition.
inline void CheckChoices(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  CAFFE_ENFORCE(
      yes.sizes() == no.sizes() && yes.dtype() == no.dtype() && yes.has_data() && no.has_data(),
      "both choices must have the same shape and type, and hold elements: found ",
      yes.DebugString(), " and ", no.DebugString());
  CAFFE_ENFORCE(condition.dim() == 1 && yes.dim() >= 1 && condition.numel() == yes.size(0),
                "there must be one condition for each row of the data: the condition has shape ",
                ShapeString(condition.sizes()), ", the data ", ShapeString(yes.sizes()));
}

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
