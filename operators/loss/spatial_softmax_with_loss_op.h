// SpatialSoftmaxWithLoss: a softmax over the channels of each pixel of N x C x H x W logits, and
// its cross entropy with a label for each pixel.
#pragma once

#include "operators/common/pixel_labels.h"
#include "operators/loss/index_labels.h"
#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

// Only devices take 16-bit logits.
template <class Context>
using SpatialSoftmaxTypes = std::conditional_t<Context::kDeviceType == CPU, TensorTypes<float>,
                                               TensorTypes<float, float16, bfloat16>>;

// Shared by the operator and its gradient: the arguments and the check of the shapes.
template <class Context>
class SpatialSoftmaxWithLossBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SpatialSoftmaxWithLossBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), scale_(this->template GetSingleArgument<float>("scale", 1.f)) {
    CAFFE_ENFORCE(scale_ >= 0, "argument scale must not be negative, found ", scale_);
    const auto order = this->template GetSingleArgument<std::string>("order", "NCHW");
    CAFFE_ENFORCE(order == "NCHW", "argument order must be NCHW, found ", order);
  }

 protected:
  // `narrowed` must live as long as the result (index_labels.h).
  PixelLabels CheckShapes(const Tensor& X, const Tensor& labels, const Tensor* weights,
                          Tensor* narrowed) {
    CAFFE_ENFORCE(X.dim() == 4, "the logits must be N x C x H x W, found shape ",
                  ShapeString(X.sizes()));
    PixelLabels p{X.size(0), X.size(1), X.size_from_dim(2)};
    CAFFE_ENFORCE(labels.dim() == 3 && labels.size(0) == p.batch && labels.size(1) == X.size(2) &&
                      labels.size(2) == X.size(3),
                  "the labels must be N x H x W for logits N x C x H x W: labels has shape ",
                  ShapeString(labels.sizes()), ", the logits ", ShapeString(X.sizes()));
    p.labels = IndexLabels(labels, narrowed, &context_);
    if (weights != nullptr) {
      CAFFE_ENFORCE(weights->sizes() == labels.sizes(),
                    "there must be one weight for each label: weights has shape ",
                    ShapeString(weights->sizes()), ", labels ", ShapeString(labels.sizes()));
      p.weights = weights->data<float>();
    }
    return p;
  }

  float scale_;
};

// Logits, labels, [weights] -> P, loss. An overload of SpatialSoftmaxLoss, chosen by its last
// argument, does the work on the device.
template <class Context>
class SpatialSoftmaxWithLossOp final : public SpatialSoftmaxWithLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SpatialSoftmaxWithLossBase<Context>::SpatialSoftmaxWithLossBase;
  bool RunOnDevice() override {
    return SpatialSoftmaxTypes<Context>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    Tensor narrowed(context_.device());
    const PixelLabels pixels =
        this->CheckShapes(X, Input(1), InputSize() > 2 ? &Input(2) : nullptr, &narrowed);
    const T* x = X.data<T>();
    Tensor *P = Output(0), *loss = Output(1);
    P->ResizeLike(X);
    loss->Resize();
    SpatialSoftmaxLoss(pixels, x, this->scale_, P->template mutable_data<T>(),
                       loss->template mutable_data<float>(), &context_);
    return true;
  }
};

// dX[c, i] = (P[c, i] - [c is the label of i]) * weight[i] * scale / (sum of weights) * d_loss;
// SpatialSoftmaxLossGradient of the device does the work.
template <class Context>
class SpatialSoftmaxWithLossGradientOp final : public SpatialSoftmaxWithLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SpatialSoftmaxWithLossBase<Context>::SpatialSoftmaxWithLossBase;
  bool RunOnDevice() override {
    return SpatialSoftmaxTypes<Context>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const bool weighted = InputSize() > 4;
    const Tensor &X = Input(0), &P = Input(weighted ? 3 : 2);
    Tensor narrowed(context_.device());
    const PixelLabels pixels =
        this->CheckShapes(X, Input(1), weighted ? &Input(2) : nullptr, &narrowed);
    CAFFE_ENFORCE(P.numel() == X.numel(),
                  "softmax must have as many elements as the logits: softmax has shape ",
                  ShapeString(P.sizes()), ", the logits ", ShapeString(X.sizes()));
    const Rate d_loss = RateFor(this->template Input<Tensor>(weighted ? 4 : 3),
                                "the gradient of the loss", &context_);
    const T* p = P.data<T>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    SpatialSoftmaxLossGradient(pixels, p, d_loss, this->scale_, dX->template mutable_data<T>(),
                               &context_);
    return true;
  }
};

}  // namespace caffe2
