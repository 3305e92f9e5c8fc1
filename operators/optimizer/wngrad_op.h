// Wngrad and SparseWngrad: one learning rate for a whole parameter, lowered by the size of its
// gradients (Wu, Ward & Bottou, 2018).
#pragma once

#include "operators/optimizer/global_rate_functions.h"
#include "operators/optimizer/lars_op.h"
#include "operators/optimizer/update_op.h"

namespace caffe2 {

// Shared by both operators.
template <class Context>
class WngradBase : public UpdateOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  WngradBase(const OperatorDef& def, Workspace* ws, const UpdateLayout& layout)
      : UpdateOp<Context>(def, ws, layout),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)) {}

 protected:
  enum { SEQ_B = 1 };

  // Computes the rate in `rate` or, if that is null, in `storage`, and sets it in the update.
  // Writes the new b to output 1.
  template <class Elements>
  void SetRate(float* rate, Elements* update, Tensor* storage) {
    const Tensor& b = Input(SEQ_B);
    CAFFE_ENFORCE(b.numel() == 1, "seq_b must have one element, found shape ",
                  ShapeString(b.sizes()));
    storage->Resize(2);  // the squares, the rate
    float* step = storage->template mutable_data<float>();
    if (rate == nullptr) rate = step + 1;
    SumOfSquares(Input(this->layout_.grad).numel(), update->grad, step, &context_);
    const float* old_b = b.data<float>();
    float* new_b = this->Like(b, SEQ_B);
    ForEach(1, WngradStep{epsilon_, update->lr, step, old_b, new_b, rate}, &context_);
    update->lr = {rate};
  }

 private:
  float epsilon_;
};

template <class Context>
class WngradOp final : public WngradBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  WngradOp(const OperatorDef& def, Workspace* ws)
      : WngradBase<Context>(def, ws,
                            {.grad = 2, .param = 0, .lr = 3, .param_out = 0, .step_out = 3}) {}
  bool RunOnDevice() override {
    auto update = this->MakeUpdate(WngradRule());
    Tensor storage(context_.device());
    this->SetRate(this->Like(Input(this->SEQ_B), RATE_OUT), &update, &storage);
    ForEach(Input(this->layout_.grad).numel(), update, &context_);
    return true;
  }

 private:
  enum { RATE_OUT = 2 };
};

template <class Context>
class SparseWngradOp final : public WngradBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseWngradOp(const OperatorDef& def, Workspace* ws)
      : WngradBase<Context>(def, ws,
                            {.grad = 3, .param = 0, .indices = 2, .lr = 4, .param_out = 0}) {}
  bool RunOnDevice() override {
    auto rows = this->template MakeRows<SparseUpdate>(WngradRule());
    Tensor storage(context_.device());
    this->SetRate(nullptr, &rows.elements, &storage);
    this->UpdateParamRows(rows);
    return true;
  }
};

}  // namespace caffe2
