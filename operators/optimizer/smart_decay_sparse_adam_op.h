// SmartDecaySparseAdam: Adam of sparse gradients as if the others were zero, not missing.
#pragma once

#include "operators/common/shape_input.h"
#include "operators/optimizer/adam_op.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/row_rule_functions.h"
#include "operators/optimizer/row_update_check.h"
#include "operators/sparse/gather_op.h"

namespace caffe2 {

template <class Context>
class SmartDecaySparseAdamOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SmartDecaySparseAdamOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), arguments_(*this) {
    CAFFE_ENFORCE(arguments_.beta1 >= 0 && arguments_.beta1 < 1, "beta1 is ", arguments_.beta1);
  }
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &indices = Input(INDICES), &grad = Input(GRAD);
    const int64_t width = CheckRowGradient(param, indices, grad);
    CheckOptimizerState(param, Input(MOMENT_1), "moment_1");
    CheckOptimizerState(param, Input(MOMENT_2), "moment_2");
    CheckRowWiseState(param, Input(LAST_SEEN), "last_seen");
    const Rate lr = RateFor(this->template Input<Tensor>(LR), "the learning rate", &context_);
    CAFFE_ENFORCE_EQ(this->template Input<Tensor>(ITER).numel(), 1, "iter must be a scalar");
    const int64_t now = ReadInteger(this->template Input<Tensor>(ITER)) + 1;
    UpdateRows(indices, param.size(0),
               SmartDecayAdamRow{width, arguments_.beta1, arguments_.beta2, arguments_.epsilon, now,
                                 lr, grad.data<float>(), UpdatedData<float>(Output(0)),
                                 UpdatedData<float>(Output(1)), UpdatedData<float>(Output(2)),
                                 UpdatedData<int64_t>(Output(3))},
               &context_);
    return true;
  }

 private:
  enum { PARAM, MOMENT_1, MOMENT_2, LAST_SEEN, INDICES, GRAD, LR, ITER };
  const AdamArguments arguments_;
};

}  // namespace caffe2
