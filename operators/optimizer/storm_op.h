// Storm and SparseStorm: momentum that corrects itself, with a rate from the sum of squared
// gradients (Cutkosky & Orabona, NeurIPS 2019).
#pragma once

#include "operators/optimizer/global_rate_functions.h"
#include "operators/optimizer/lars_op.h"
#include "operators/optimizer/row_update_check.h"
#include "operators/sparse/gather_op.h"

namespace caffe2 {

// What both operators share.
template <class Context>
class StormBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  StormBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        momentum_(this->template GetSingleArgument<float>("momentum", 10.f)),
        beta_(this->template GetSingleArgument<float>("beta", 0.1f)) {}

 protected:
  // Rate and alpha of a step, in `storage`. Adds the squares of the gradient to `sum`, into output
  // 2. On the host throws unless beta and the sum are above 0.
  const float* MakeStep(const Tensor& sum, const Tensor& grad, const Rate& lr, Tensor* storage) {
    CAFFE_ENFORCE_EQ(sum.numel(), 1, "elements of grad_sq_sum ", ShapeString(sum.sizes()));
    storage->Resize(3);  // the squares, rate, alpha
    float* step = storage->template mutable_data<float>();
    SumOfSquares(grad.numel(), grad.data<float>(), step, &context_);
    if constexpr (Context::kDeviceType == CPU) {
      CAFFE_ENFORCE_GT(beta_ + *sum.data<float>() + *step, 0, "beta + grad_sq_sum");
    }
    const float* old_sum = sum.data<float>();
    Output(2)->ResizeLike(sum);
    ForEach(1,
            StormStep{momentum_, beta_, lr, step, old_sum,
                      Output(2)->template mutable_data<float>(), step + 1, step + 2},
            &context_);
    return step + 1;
  }

 private:
  float momentum_, beta_;
};

template <class Context>
class StormOp final : public StormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using StormBase<Context>::StormBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &moment = Input(MOMENT), &grad = Input(GRAD);
    CheckOptimizerState(param, moment, "moment");
    CheckOptimizerState(param, grad, "gradient");
    const float *p = param.data<float>(), *m = moment.data<float>(), *g = grad.data<float>();
    const Rate lr = RateFor(this->template Input<Tensor>(LR), "the learning rate", &context_);
    Tensor storage(context_.device());
    const float* step = this->MakeStep(Input(GRAD_SQ_SUM), grad, lr, &storage);
    Output(0)->ResizeLike(param);
    Output(1)->ResizeLike(moment);
    ForEach(param.numel(),
            StormElements{step, step + 1, p, m, g, Output(0)->template mutable_data<float>(),
                          Output(1)->template mutable_data<float>()},
            &context_);
    return true;
  }

 private:
  enum { PARAM, MOMENT, GRAD_SQ_SUM, GRAD, LR };
};

template <class Context>
class SparseStormOp final : public StormBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using StormBase<Context>::StormBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &indices = Input(INDICES), &grad = Input(GRAD);
    CheckOptimizerState(param, Input(MOMENT), "moment");
    const int64_t width = CheckRowGradient(param, indices, grad);
    const Rate lr = RateFor(this->template Input<Tensor>(LR), "the learning rate", &context_);
    Tensor storage(context_.device());
    const float* step = this->MakeStep(Input(GRAD_SQ_SUM), grad, lr, &storage);
    UpdateRows(indices, param.size(0),
               StormRow{width, step, step + 1, grad.data<float>(), UpdatedData<float>(Output(0)),
                        UpdatedData<float>(Output(1))},
               &context_);
    return true;
  }

 private:
  enum { PARAM, MOMENT, GRAD_SQ_SUM, GRAD, INDICES, LR };
};

}  // namespace caffe2
