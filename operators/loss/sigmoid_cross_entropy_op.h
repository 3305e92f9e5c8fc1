// SigmoidCrossEntropyWithLogits and its weighted form: binary cross entropies of logits, averaged
// over the last axis.
#pragma once

#include <vector>

#include "operators/common/short_rows.h"
#include "operators/loss/sigmoid_loss_functions.h"

namespace caffe2 {

// The sizes of the last axis of the logits and of all others. Throws EnforceNotMet unless the
// shapes agree and rows are not empty.
struct LogitRows {
  int64_t n = 0, d = 0;
  static LogitRows Make(const Tensor& x, const Tensor& t, const Tensor* weights) {
    CAFFE_ENFORCE(x.sizes() == t.sizes() && (weights == nullptr || weights->sizes() == x.sizes()),
                  "logits ", ShapeString(x.sizes()), ", targets ", ShapeString(t.sizes()),
                  weights == nullptr ? "" : " and weights ",
                  weights == nullptr ? "" : ShapeString(weights->sizes()),
                  " must have the same shape");
    const int64_t d = x.dim() == 0 ? 1 : x.size(-1);
    CAFFE_ENFORCE(d > 0, "the last axis of the logits must not be empty, found shape ",
                  ShapeString(x.sizes()));
    return {x.numel() / d, d};
  }
  static std::vector<int64_t> LossDims(std::vector<int64_t> dims) {
    if (!dims.empty()) dims.pop_back();
    return dims;
  }
};

// Reads the arguments log_D_trick and unjoined_lr_loss. Throws EnforceNotMet if both are set.
SigmoidLoss ReadSigmoidLoss(const OperatorBase& op);

// Logits, targets, [weights] -> losses.
template <class Context, bool kWeighted>
class SigmoidCrossEntropyOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SigmoidCrossEntropyOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        loss_(kWeighted ? SigmoidLoss::kCrossEntropy : ReadSigmoidLoss(*this)) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &t = Input(1);
    const Tensor* weights = kWeighted ? &Input(2) : nullptr;
    const LogitRows rows = LogitRows::Make(x, t, weights);
    Tensor* y = Output(0);
    y->Resize(LogitRows::LossDims(x.sizes()));
    ForEachRowSum(
        rows.n, rows.d,
        SigmoidLossRows<T>{loss_, rows.d, x.data<T>(), t.data<T>(),
                           kWeighted ? weights->data<T>() : nullptr, y->template mutable_data<T>()},
        &context_);
    return true;
  }

 private:
  const SigmoidLoss loss_;
};

// The gradient of the losses, logits, targets, [weights] -> the gradient of the logits.
template <class Context, bool kWeighted>
class SigmoidCrossEntropyGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SigmoidCrossEntropyGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        loss_(kWeighted ? SigmoidLoss::kCrossEntropy : ReadSigmoidLoss(*this)) {}
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(1).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dy = Input(0), &x = Input(1), &t = Input(2);
    const Tensor* weights = kWeighted ? &Input(3) : nullptr;
    const LogitRows rows = LogitRows::Make(x, t, weights);
    CAFFE_ENFORCE(dy.numel() == rows.n, "the gradient must have one value for each of the ", rows.n,
                  " rows of the logits, found shape ", ShapeString(dy.sizes()));
    const T *dy_data = dy.data<T>(), *x_data = x.data<T>();
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    ForEachRowElement(rows.n, rows.d,
                      SigmoidLossGradientRows<T>{loss_, rows.d, dy_data, x_data, t.data<T>(),
                                                 kWeighted ? weights->data<T>() : nullptr,
                                                 dx->template mutable_data<T>()},
                      &context_);
    return true;
  }

 private:
  const SigmoidLoss loss_;
};

}  // namespace caffe2
