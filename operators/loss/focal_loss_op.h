// SigmoidFocalLoss and SoftmaxFocalLoss: losses of the classes of RetinaNet's anchors (Lin et al.,
// ICCV 2017).
#pragma once

#include "operators/activation/group_spatial_softmax_op.h"
#include "operators/common/checked_indices.h"
#include "operators/loss/detection_loss.h"

namespace caffe2 {

// Logits N x (anchors * num_classes) x H x W and labels N x anchors x H x W.
template <class Context>
class FocalLoss : public DetectionLoss<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FocalLoss(const OperatorDef& def, Workspace* ws, int default_classes)
      : DetectionLoss<Context>(def, ws),
        focus_{this->template GetSingleArgument<float>("gamma", 1.f),
               this->template GetSingleArgument<float>("alpha", 0.25f)},
        classes_(ReadNumClasses(*this, default_classes)) {}

 protected:
  // An image for each anchor. `narrowed` must live as long as the result (index_labels.h).
  PixelLabels AnchorsOf(const Tensor& x, const Tensor& labels, Tensor* narrowed) {
    PixelLabels pixels = GroupsOfChannels(x, classes_);
    CAFFE_ENFORCE(labels.numel() == pixels.count(),
                  "there must be one label for each anchor at each pixel, ", pixels.count(),
                  " for logits of shape ", ShapeString(x.sizes()), " and ", classes_,
                  " classes: labels has shape ", ShapeString(labels.sizes()));
    pixels.labels = IndexLabels(labels, narrowed, &context_);
    return pixels;
  }

  const Focus focus_;
  const int64_t classes_;
};

// Logits, labels, normalizer [, d_loss] -> loss or, if kGradient, the gradient of the logits.
template <class Context, bool kGradient>
class SigmoidFocalLossOp final : public FocalLoss<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SigmoidFocalLossOp(const OperatorDef& def, Workspace* ws) : FocalLoss<Context>(def, ws, 80) {}
  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    Tensor narrowed(context_.device());
    const PixelLabels pixels = this->AnchorsOf(x, Input(1), &narrowed);
    const SigmoidFocalTerms terms{this->focus_, this->classes_, pixels.area, x.data<float>(),
                                  pixels.labels};
    const LossFactor factor = this->DividedBy(2);
    if constexpr (kGradient) {
      return this->WriteGradient(x, terms, factor);
    } else {
      return this->WriteLoss(x.numel(), terms, factor);
    }
  }
};

// Logits, labels, normalizer -> loss, probabilities; if kGradient, logits, labels, normalizer,
// probabilities, d_loss -> the gradient of the logits.
template <class Context, bool kGradient>
class SoftmaxFocalLossOp final : public FocalLoss<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SoftmaxFocalLossOp(const OperatorDef& def, Workspace* ws) : FocalLoss<Context>(def, ws, 81) {}
  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    Tensor narrowed(context_.device());
    const PixelLabels pixels = this->AnchorsOf(x, Input(1), &narrowed);
    CheckLabels(pixels);
    const LossFactor factor = this->DividedBy(2);
    if constexpr (kGradient) {
      const Tensor& p = Input(3);
      CAFFE_ENFORCE(p.numel() == x.numel(),
                    "there must be as many probabilities as logits: probabilities has shape ",
                    ShapeString(p.sizes()), ", the logits ", ShapeString(x.sizes()));
      return this->WriteGradient(x, SoftmaxFocalTerms{this->focus_, pixels, p.data<float>()},
                                 factor);
    } else {
      Tensor* P = Output(1);
      P->ResizeLike(x);
      auto* p = P->template mutable_data<float>();
      ForEach(pixels.count(), GroupSoftmax{pixels, x.data<float>(), p}, &context_);
      return this->WriteLoss(pixels.count(), SoftmaxFocalTerms{this->focus_, pixels, p}, factor);
    }
  }

 private:
  void CheckLabels(const PixelLabels& pixels) {
    Tensor indices(context_.device());
    indices.Resize(pixels.count());
    ForEach(pixels.count(), IndicesOfLabels{pixels.labels, indices.template mutable_data<int>()},
            &context_);
    CheckedIndices(indices, pixels.classes, &context_);
  }
};

}  // namespace caffe2
