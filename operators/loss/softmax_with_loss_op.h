// SoftmaxWithLoss: logits, labels, [weights] -> the softmax, and the cross entropy of the softmax
// with the labels, a float scalar averaged over the rows.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/operator_gradient.h"

namespace caffe2 {

// The arguments of the forward and the gradient operator, and the check of their shapes.
template <class Context>
class SoftmaxWithLossBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SoftmaxWithLossBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        axis_(this->template GetSingleArgument<int>("axis", 1)),
        scale_(this->template GetSingleArgument<float>("scale", 1.f)),
        label_prob_(this->template GetSingleArgument<int>("label_prob", 0) != 0),
        average_by_rows_(this->template GetSingleArgument<int>("average_by_batch_size", 0) != 0) {
    CAFFE_ENFORCE(scale_ >= 0, "argument scale must not be negative, found ", scale_);
  }

 protected:
  struct Sizes {
    int64_t n = 0;  // rows
    int64_t d = 0;  // classes
  };
  // Throws EnforceNotMet naming the shapes if labels or weights do not fit the logits.
  Sizes CheckShapes(const Tensor& x, const Tensor& labels, const Tensor* weights) const;

  // The inputs of the gradient operator.
  struct GradientInputs {
    const Tensor &x, &labels;
    const Tensor* weights;  // null: there are none
    const Tensor &p, &d_loss;
    Sizes sizes;
  };
  // Throws EnforceNotMet naming the shapes if they do not fit.
  GradientInputs ReadGradientInputs() const;

  int axis_;
  float scale_;
  bool label_prob_;
  bool average_by_rows_;  // divide by the number of rows, not by the sum of their weights
};

template <class Context>
class SoftmaxWithLossOp final : public SoftmaxWithLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SoftmaxWithLossBase<Context>::SoftmaxWithLossBase;
  bool RunOnDevice() override;

 private:
  Tensor row_losses_{Context::kDeviceType};
};

template <class Context>
class SoftmaxWithLossGradientOp final : public SoftmaxWithLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SoftmaxWithLossBase<Context>::SoftmaxWithLossBase;
  bool RunOnDevice() override;
};

template <class Context>
typename SoftmaxWithLossBase<Context>::Sizes SoftmaxWithLossBase<Context>::CheckShapes(
    const Tensor& x, const Tensor& labels, const Tensor* weights) const {
  const int axis = x.canonical_axis_index(axis_);
  const Sizes s{.n = x.size_to_dim(axis), .d = x.size_from_dim(axis)};
  CAFFE_ENFORCE(labels.numel() == (label_prob_ ? s.n * s.d : s.n), "label must have one ",
                label_prob_ ? "probability for each class of each row" : "class index for each row",
                ": label has shape ", ShapeString(labels.sizes()), ", the logits ",
                ShapeString(x.sizes()));
  if (weights != nullptr) {
    CAFFE_ENFORCE(weights->numel() == s.n,
                  "there must be one weight for each row of the logits: weights has shape ",
                  ShapeString(weights->sizes()), ", the logits ", ShapeString(x.sizes()));
  }
  return s;
}

template <class Context>
typename SoftmaxWithLossBase<Context>::GradientInputs
SoftmaxWithLossBase<Context>::ReadGradientInputs() const {
  const Tensor &x = Input(0), &labels = Input(1);
  const int p = InputSize() > 4 ? 3 : 2;
  const Tensor* weights = p == 3 ? &Input(2) : nullptr;
  const GradientInputs in{x,        labels,       weights,
                          Input(p), Input(p + 1), CheckShapes(x, labels, weights)};
  CAFFE_ENFORCE(in.p.numel() == x.numel(),
                "softmax must have as many elements as the logits: softmax has shape ",
                ShapeString(in.p.sizes()), ", the logits ", ShapeString(x.sizes()));
  CAFFE_ENFORCE(in.d_loss.numel() == 1, "the gradient of the loss must have one element, found ",
                in.d_loss.numel());
  return in;
}

// Describes a loss of a softmax, (logits, labels, [weights]) -> (softmax, loss), or its gradient,
// (logits, labels, [weights], softmax, d_loss) -> d_logits.
void DescribeSoftmaxLoss(OpSchema& schema);
void DescribeSoftmaxLossGradient(OpSchema& schema);

// Makes the gradient operator "<type>Gradient" of a loss of a softmax. Throws EnforceNotMet if the
// output softmax has a gradient.
class SoftmaxLossGradientMaker final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override;
};

}  // namespace caffe2
