// RowWiseCounter: counts the recent updates of each row of a parameter. prev_iter (int64 for each
// row), counts (double for each row), indices, iteration -> prev_iter, counts, in place. UpdateRows
// is a function of the device (update_rows.h).
#pragma once

#include "operators/common/shape_input.h"
#include "operators/common/update_rows.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/parameter_row_functions.h"

namespace caffe2 {

template <class Context>
class RowWiseCounterOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RowWiseCounterOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        halflife_(this->template GetSingleArgument<int64_t>("counter_halflife", -1)) {}
  bool RunOnDevice() override {
    const Tensor &last = Input(PREV_ITER), &counts = Input(COUNTER),
                 &iter = this->template Input<Tensor>(ITER);
    CAFFE_ENFORCE(
        last.numel() == counts.numel(),
        "the iterations and the counts of rows must have the same number of elements: found ",
        last.numel(), " and ", counts.numel());
    if (halflife_ <= 0) return true;
    UpdateRows(Input(INDICES), counts.numel(),
               CountRow{ReadInteger(iter, "the iteration counter"), static_cast<double>(halflife_),
                        UpdatedData<int64_t>(Output(0)), UpdatedData<double>(Output(1))},
               &context_);
    return true;
  }

 private:
  enum { PREV_ITER, COUNTER, INDICES, ITER };
  int64_t halflife_;
};

}  // namespace caffe2
