// SigmoidCrossEntropyWithLogits: binary cross entropy of logits, averaged over the last axis.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// Which loss of a logit x and a target t, with s = sigmoid(x).
enum class SigmoidLoss {
  kCrossEntropy,  // -(t log s + (1 - t) log(1 - s))
  kLogD,          // (1 - 2 t) log s: the generator's loss that keeps its gradient
  kUnjoined,      // -(t x + (1 - t) log(1 - s)): negatives come for positives too
};

// What the forward and the gradient operator have in common: their arguments.
template <class Context>
class SigmoidCrossEntropyBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SigmoidCrossEntropyBase(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws) {
    const bool log_d = this->template GetSingleArgument<int>("log_D_trick", 0) != 0;
    const bool unjoined = this->template GetSingleArgument<int>("unjoined_lr_loss", 0) != 0;
    CAFFE_ENFORCE(!log_d || !unjoined, "log_D_trick and unjoined_lr_loss exclude each other");
    if (log_d) loss_ = SigmoidLoss::kLogD;
    if (unjoined) loss_ = SigmoidLoss::kUnjoined;
  }

 protected:
  SigmoidLoss loss_ = SigmoidLoss::kCrossEntropy;
};

template <class Context>
class SigmoidCrossEntropyWithLogitsOp final : public SigmoidCrossEntropyBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SigmoidCrossEntropyBase<Context>::SigmoidCrossEntropyBase;
  bool RunOnDevice() override;
};

template <class Context>
class SigmoidCrossEntropyWithLogitsGradientOp final : public SigmoidCrossEntropyBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SigmoidCrossEntropyBase<Context>::SigmoidCrossEntropyBase;
  bool RunOnDevice() override;
};

}  // namespace caffe2
