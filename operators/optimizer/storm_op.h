// Storm and SparseStorm: momentum that corrects itself, with a rate from the sum of squared
// gradients (Cutkosky & Orabona, NeurIPS 2019).
#pragma once

#include "operators/optimizer/global_rate_functions.h"
#include "operators/optimizer/lars_op.h"
#include "operators/optimizer/update_op.h"

namespace caffe2 {

// Shared by both operators.
template <class Context>
class StormBase : public UpdateOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  StormBase(const OperatorDef& def, Workspace* ws, const UpdateLayout& layout)
      : UpdateOp<Context>(def, ws, layout),
        momentum_(this->template GetSingleArgument<float>("momentum", 10.f)),
        beta_(this->template GetSingleArgument<float>("beta", 0.1f)) {}

 protected:
  // Computes rate and correction in `storage`, and sets them in the update. Adds the squares of the
  // gradient to the sum, and writes the sum to output 2. On the host, throws EnforceNotMet unless
  // beta + sum is positive.
  template <class Elements>
  void SetRates(Elements* update, Tensor* storage) {
    const Tensor &sum = Input(GRAD_SQ_SUM), &grad = Input(this->layout_.grad);
    CAFFE_ENFORCE(sum.numel() == 1, "grad_sq_sum must have one element, found shape ",
                  ShapeString(sum.sizes()));
    storage->Resize(3);  // the squares, rate, alpha
    float* step = storage->template mutable_data<float>();
    SumOfSquares(grad.numel(), update->grad, step, &context_);
    if constexpr (Context::kDeviceType == CPU) {
      CAFFE_ENFORCE(
          beta_ + *sum.data<float>() + *step > 0,
          "the sum of beta, grad_sq_sum and the squared gradient must be positive, found ",
          beta_ + *sum.data<float>() + *step);
    }
    const float* old_sum = sum.data<float>();
    float* new_sum = this->Like(sum, GRAD_SQ_SUM);
    ForEach(1, StormStep{momentum_, beta_, update->lr, step, old_sum, new_sum, step + 1, step + 2},
            &context_);
    update->lr = {step + 1};
    update->correction = {step + 2};
  }

 private:
  enum { GRAD_SQ_SUM = 2 };
  float momentum_, beta_;
};

template <class Context>
class StormOp final : public StormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  StormOp(const OperatorDef& def, Workspace* ws)
      : StormBase<Context>(
            def, ws,
            {.grad = 3, .param = 0, .states = 1, .lr = 4, .param_out = 0, .states_out = 1}) {}
  bool RunOnDevice() override {
    auto update = this->MakeUpdate(StormRule());
    Tensor storage(context_.device());
    this->SetRates(&update, &storage);
    ForEach(Input(this->layout_.grad).numel(), update, &context_);
    return true;
  }
};

template <class Context>
class SparseStormOp final : public StormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SparseStormOp(const OperatorDef& def, Workspace* ws)
      : StormBase<Context>(def, ws,
                           {.grad = 3,
                            .param = 0,
                            .states = 1,
                            .indices = 4,
                            .lr = 5,
                            .param_out = 0,
                            .states_out = 1}) {}
  bool RunOnDevice() override {
    auto rows = this->template MakeRows<SparseUpdate>(StormRule());
    Tensor storage(context_.device());
    this->SetRates(&rows.elements, &storage);
    this->UpdateParamRows(rows);
    return true;
  }
};

}  // namespace caffe2
