// Wngrad and SparseWngrad: one learning rate for a whole parameter, lowered by the size of its
// gradients (Wu, Ward & Bottou, 2018).
#pragma once

#include "operators/optimizer/global_rate_functions.h"
#include "operators/optimizer/lars_op.h"
#include "operators/optimizer/row_update_check.h"
#include "operators/sparse/gather_op.h"

namespace caffe2 {

// What both operators share.
template <class Context>
class WngradBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  WngradBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)) {}

 protected:
  // The rate of a step, in `rate` or, if that is null, in `storage`; output 1 becomes the new b.
  const float* MakeStep(const Tensor& b, const Tensor& grad, const Rate& lr, float* rate,
                        Tensor* storage) {
    CAFFE_ENFORCE_EQ(b.numel(), 1, "elements of seq_b ", ShapeString(b.sizes()));
    storage->Resize(2);  // the squares, the rate
    float* step = storage->template mutable_data<float>();
    if (rate == nullptr) rate = step + 1;
    SumOfSquares(grad.numel(), grad.data<float>(), step, &context_);
    const float* old_b = b.data<float>();
    Output(1)->ResizeLike(b);
    ForEach(1,
            WngradStep{epsilon_, lr, step, old_b, Output(1)->template mutable_data<float>(), rate},
            &context_);
    return rate;
  }

 private:
  float epsilon_;
};

template <class Context>
class WngradOp final : public WngradBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using WngradBase<Context>::WngradBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    CheckOptimizerState(param, grad, "gradient");
    const float *p = param.data<float>(), *g = grad.data<float>();
    const Rate lr = RateFor(this->template Input<Tensor>(LR), "the learning rate", &context_);
    float *rate_out = nullptr, *update_out = nullptr;
    if (OutputSize() > 2) {
      Output(2)->ResizeLike(Input(SEQ_B));
      rate_out = Output(2)->template mutable_data<float>();
    }
    Tensor storage(context_.device());
    const float* rate = this->MakeStep(Input(SEQ_B), grad, lr, rate_out, &storage);
    Output(0)->ResizeLike(param);
    if (OutputSize() > 3) {
      Output(3)->ResizeLike(grad);
      update_out = Output(3)->template mutable_data<float>();
    }
    ForEach(param.numel(),
            WngradElements{rate, p, g, Output(0)->template mutable_data<float>(), update_out},
            &context_);
    return true;
  }

 private:
  enum { PARAM, SEQ_B, GRAD, LR };
};

template <class Context>
class SparseWngradOp final : public WngradBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using WngradBase<Context>::WngradBase;
  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &indices = Input(INDICES), &grad = Input(GRAD);
    const int64_t width = CheckRowGradient(param, indices, grad);
    const Rate lr = RateFor(this->template Input<Tensor>(LR), "the learning rate", &context_);
    Tensor storage(context_.device());
    const float* rate = this->MakeStep(Input(SEQ_B), grad, lr, nullptr, &storage);
    UpdateRows(indices, param.size(0),
               WngradRow{width, rate, grad.data<float>(), UpdatedData<float>(Output(0))},
               &context_);
    return true;
  }

 private:
  enum { PARAM, SEQ_B, INDICES, GRAD, LR };
};

}  // namespace caffe2
