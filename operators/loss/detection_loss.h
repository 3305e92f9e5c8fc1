// What the losses of detectors share: their sum, and its gradient. Operators include
// host_device_cuda.h before their registration for CUDA devices.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/loss/detection_loss_functions.h"
#include "operators/loss/index_labels.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

// *loss = factor * the sum of terms.Loss(i) for i in [0, n).
template <class Terms, class Context>
void TotalLoss(int64_t n, const Terms& terms, const LossFactor& factor, float* loss,
               Context* context) {
  const int64_t count = (n + kLossPart - 1) / kLossPart;
  Tensor storage(context->device());
  storage.Resize(count);
  auto* parts = storage.template mutable_data<float>();
  ForEachRow(count, kLossPart, SumLossParts<Terms>{terms, n, parts}, context);
  ForEachRow(1, count, SumLoss{factor, count, parts, loss}, context);
}

// Shared by a loss and its gradient: `scale`, the scalar output, and checks.
template <class Context>
class DetectionLoss : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DetectionLoss(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), scale_(this->template GetSingleArgument<float>("scale", 1.f)) {
    CAFFE_ENFORCE(scale_ >= 0, "argument scale must not be negative, found ", scale_);
  }

 protected:
  // Output 0 = the loss, a scalar.
  template <class Terms>
  bool WriteLoss(int64_t n, const Terms& terms, const LossFactor& factor) {
    Output(0)->Resize();
    TotalLoss(n, terms, factor, Output(0)->template mutable_data<float>(), &context_);
    return true;
  }
  // Output 0 = the gradient, shaped like `x`.
  template <class Terms>
  bool WriteGradient(const Tensor& x, const Terms& terms, const LossFactor& factor) {
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    ForEach(x.numel(),
            SpreadLoss<Terms>{terms, factor, DLoss(), dx->template mutable_data<float>()},
            &context_);
    return true;
  }
  // The last input of a gradient.
  Rate DLoss() {
    return RateFor(this->template Input<Tensor>(InputSize() - 1), "the gradient of the loss",
                   &context_);
  }
  // The loss is divided by an input, or by 1 if that is less.
  LossFactor DividedBy(int input) {
    return {scale_, RateFor(this->template Input<Tensor>(input), "the normalizer", &context_), 1.f};
  }

  const float scale_;
};

inline void DescribeLossScale(OpSchema& schema) {
  schema.Arg<float>("scale", "(>= 0, default 1) Factor of the loss.");
}

}  // namespace caffe2
