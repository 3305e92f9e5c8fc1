// SigmoidCrossEntropyLoss: one loss of all logits, some of which may have no target.
#pragma once

#include "operators/loss/detection_loss.h"

namespace caffe2 {

// Logits, targets [, d_loss] -> loss or, if kGradient, the gradient of the logits.
template <class Context, bool kGradient>
class SigmoidCrossEntropyLossOp final : public DetectionLoss<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SigmoidCrossEntropyLossOp(const OperatorDef& def, Workspace* ws)
      : DetectionLoss<Context>(def, ws),
        normalize_(this->template GetSingleArgument<int>("normalize", 1) != 0) {}
  bool RunOnDevice() override {
    const Tensor &x = Input(0), &targets = Input(1);
    CAFFE_ENFORCE(targets.numel() == x.numel(),
                  "there must be one target for each logit: targets "
                  "has shape ",
                  ShapeString(targets.sizes()), ", the logits ", ShapeString(x.sizes()));
    Tensor narrowed(context_.device()), counted(context_.device());
    const SigmoidCrossEntropyTerms terms{x.data<float>(),
                                         IndexLabels(targets, &narrowed, &context_)};
    LossFactor factor{this->scale_};
    if (normalize_) {
      constexpr float kNone = 1e-5f;  // the divisor if all targets are ignored
      counted.Resize();
      auto* count = counted.template mutable_data<float>();
      TotalLoss(x.numel(), CountTargets{terms.targets}, {}, count, &context_);
      factor = {this->scale_, {count}, kNone};
    }
    if constexpr (kGradient) {
      return this->WriteGradient(x, terms, factor);
    } else {
      return this->WriteLoss(x.numel(), terms, factor);
    }
  }

 private:
  const bool normalize_;
};

}  // namespace caffe2
