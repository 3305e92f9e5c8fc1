// Conditional: chooses rows of two tensors of one shape and type. Condition [N] bool, DataT, DataF
// -> DataO: row i of DataT where condition i is true, else of DataF.
#pragma once

#include "operators/elementwise/where_op.h"

namespace caffe2 {

template <class Context>
class ConditionalOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ConditionalOp);
  bool RunOnDevice() override {
    const Tensor &condition = Input(0), &yes = Input(1), &no = Input(2);
    CAFFE_ENFORCE(
        yes.sizes() == no.sizes() && yes.dtype() == no.dtype() && yes.has_data() && no.has_data(),
        "both choices must have the same shape and type, and hold elements: found ",
        yes.DebugString(), " and ", no.DebugString());
    CAFFE_ENFORCE(condition.dim() == 1 && yes.dim() >= 1 && condition.numel() == yes.size(0),
                  "there must be one condition for each row of the data: the condition has shape ",
                  ShapeString(condition.sizes()), ", the data ", ShapeString(yes.sizes()));
    SelectRows(condition.numel(), yes.size_from_dim(1), condition.data<bool>(), yes, no, Output(0),
               &context_);
    return true;
  }
};

}  // namespace caffe2
