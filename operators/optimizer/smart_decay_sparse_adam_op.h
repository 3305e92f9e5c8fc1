// SmartDecaySparseAdam: Adam for sparse gradients that treats the missing gradients of a row as
// zeros.
#pragma once

#include "operators/common/shape_input.h"
#include "operators/optimizer/adam_op.h"

namespace caffe2 {

template <class Context>
class SmartDecaySparseAdamOp final : public UpdateOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SmartDecaySparseAdamOp(const OperatorDef& def, Workspace* ws)
      : UpdateOp<Context>(def, ws,
                          {.grad = 5,
                           .param = 0,
                           .states = 1,
                           .indices = 4,
                           .lr = 6,
                           .param_out = 0,
                           .states_out = 1}),
        rule_{ReadRule<AdamRule>(*this)} {
    CAFFE_ENFORCE(rule_.adam.beta1 >= 0 && rule_.adam.beta1 < 1,
                  "argument beta1 must be at least 0 and less than 1, found ", rule_.adam.beta1);
  }
  bool RunOnDevice() override {
    const auto rows = this->template MakeRows<SparseUpdate>(rule_);
    CheckRowWiseState(Input(this->layout_.param), Input(LAST_SEEN), "last_seen");
    const int64_t now = ReadInteger(this->template Input<Tensor>(ITER), "iter") + 1;
    this->UpdateParamRows(
        SmartDecayAdamUpdate{rows.width, rows, now, UpdatedData<int64_t>(Output(LAST_SEEN))});
    return true;
  }

 private:
  enum { LAST_SEEN = 3, ITER = 7 };
  const SmartDecayAdamRule rule_;
};

}  // namespace caffe2
