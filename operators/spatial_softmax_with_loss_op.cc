// SpatialSoftmaxWithLoss: a softmax over the channels of each pixel, and its cross entropy with
// one label a pixel.
#include <cmath>

#include "operators/element_type.h"
#include "operators/label_check.h"
#include "operators/softmax_with_loss_op.h"

namespace caffe2 {
namespace {

constexpr int kIgnored = -1;  // the label of pixels that do not count
constexpr float kSmallest = 1e-20f;

template <class Context>
class SpatialSoftmaxWithLossBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SpatialSoftmaxWithLossBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), scale_(this->template GetSingleArgument<float>("scale", 1.f)) {
    CAFFE_ENFORCE_GE(scale_, 0, "the argument scale");
    const auto order = this->template GetSingleArgument<std::string>("order", "NCHW");
    CAFFE_ENFORCE_EQ(order, "NCHW", "the storage order");
  }

 protected:
  struct Pixels {
    int64_t batch = 0, classes = 0, area = 0;
    const int* labels = nullptr;
    const float* weights = nullptr;  // null: 1 for all

    int64_t count() const { return batch * area; }
    float Weight(int64_t i) const {
      return labels[i] == kIgnored ? 0.f : weights == nullptr ? 1.f : weights[i];
    }
    double TotalWeight() const {
      double sum = 0;
      for (int64_t i = 0; i < count(); ++i) sum += Weight(i);
      return sum;
    }
    // Position in X of the label's class at pixel i.
    int64_t At(int64_t i) const {
      const int64_t label = CheckLabel(labels[i], i, classes);
      return (i / area * classes + label) * area + i % area;
    }
  };
  Pixels CheckShapes(const Tensor& X, const Tensor& labels, const Tensor* weights) const {
    CAFFE_ENFORCE_EQ(X.dim(), 4, "logits ", ShapeString(X.sizes()), " must be N x C x H x W");
    Pixels p{X.size(0), X.size(1), X.size_from_dim(2)};
    CAFFE_ENFORCE(labels.dim() == 3 && labels.size(0) == p.batch && labels.size(1) == X.size(2) &&
                      labels.size(2) == X.size(3),
                  "labels ", ShapeString(labels.sizes()), " for logits ", ShapeString(X.sizes()),
                  " must be N x H x W");
    p.labels = labels.data<int>();
    if (weights != nullptr) {
      CAFFE_ENFORCE(weights->sizes() == labels.sizes(), "weights ", ShapeString(weights->sizes()),
                    " for labels ", ShapeString(labels.sizes()));
      p.weights = weights->data<float>();
    }
    return p;
  }

  float scale_;
};

// Softmax over the classes of one image, of `area` pixels each.
void SoftmaxOfChannels(int64_t classes, int64_t area, const float* x, float* p) {
  for (int64_t i = 0; i < area; ++i) {
    float most = x[i];
    for (int64_t c = 1; c < classes; ++c) most = std::max(most, x[c * area + i]);
    float sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      p[c * area + i] = std::exp(x[c * area + i] - most);
      sum += p[c * area + i];
    }
    for (int64_t c = 0; c < classes; ++c) p[c * area + i] /= sum;
  }
}

template <class Context>
class SpatialSoftmaxWithLossOp final : public SpatialSoftmaxWithLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SpatialSoftmaxWithLossBase<Context>::SpatialSoftmaxWithLossBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const auto pixels = this->CheckShapes(X, Input(1), InputSize() > 2 ? &Input(2) : nullptr);
    const float* x = X.data<float>();
    Tensor *P = Output(0), *loss = Output(1);
    P->ResizeLike(X);
    loss->Resize();
    float* p = P->template mutable_data<float>();
    const int64_t image = pixels.classes * pixels.area;
    ParallelFor(pixels.batch, 1, [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        SoftmaxOfChannels(pixels.classes, pixels.area, x + n * image, p + n * image);
      }
    });
    double sum = 0;
    for (int64_t i = 0; i < pixels.count(); ++i) {
      if (pixels.labels[i] == kIgnored) continue;
      sum -= double{pixels.Weight(i)} * std::log(std::max(p[pixels.At(i)], kSmallest));
    }
    const double total = pixels.TotalWeight();
    *loss->template mutable_data<float>() =
        total > 0 ? static_cast<float>(this->scale_ * sum / total) : 0.f;
    return true;
  }
};

// dX[c, i] = (P[c, i] - [c is the label of i]) * weight[i] * scale / (sum of weights) * d_loss
template <class Context>
class SpatialSoftmaxWithLossGradientOp final : public SpatialSoftmaxWithLossBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using SpatialSoftmaxWithLossBase<Context>::SpatialSoftmaxWithLossBase;
  bool RunOnDevice() override {
    const bool weighted = InputSize() > 4;
    const Tensor &X = Input(0), &P = Input(weighted ? 3 : 2), &d_loss = Input(weighted ? 4 : 3);
    const auto pixels = this->CheckShapes(X, Input(1), weighted ? &Input(2) : nullptr);
    CAFFE_ENFORCE_EQ(P.numel(), X.numel(), "softmax ", ShapeString(P.sizes()));
    CAFFE_ENFORCE_EQ(d_loss.numel(), 1, "the gradient of the loss must be a scalar");
    const float* p = P.data<float>();
    const double total = pixels.TotalWeight();
    const double factor = total > 0 ? this->scale_ / total * *d_loss.data<float>() : 0;
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    float* dx = dX->template mutable_data<float>();
    for (int64_t i = 0; i < pixels.count(); ++i) {
      const auto f = static_cast<float>(factor * pixels.Weight(i));
      const int64_t first = i / pixels.area * pixels.classes * pixels.area + i % pixels.area;
      for (int64_t c = 0; c < pixels.classes; ++c) {
        dx[first + c * pixels.area] = p[first + c * pixels.area] * f;
      }
      if (pixels.labels[i] != kIgnored) dx[pixels.At(i)] -= f;
    }
    return true;
  }
};

void Arguments(OpSchema& schema) {
  schema.Arg("scale", "(float >= 0, default 1) Multiplies the loss.")
      .Arg("order", "The storage order; only NCHW.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SpatialSoftmaxWithLoss, SpatialSoftmaxWithLossOp<CPUContext>);
REGISTER_CPU_OPERATOR(SpatialSoftmaxWithLossGradient, SpatialSoftmaxWithLossGradientOp<CPUContext>);

OPERATOR_SCHEMA(SpatialSoftmaxWithLoss)
    .FillUsing(Arguments)
    .FillUsing(DescribeSoftmaxLoss)
    .SetDoc(
        "For each pixel the softmax P over the channels of the logits, and the cross entropy with "
        "its label: loss = scale * (sum over pixels of weight * -log P[label]) / (sum of "
        "weights), or 0 if nothing counts. Pixels of label -1 have weight 0.")
    .Input(0, "logits", "A float tensor N x C x H x W.")
    .Input(1, "labels", "int32 N x H x W: the class of each pixel, or -1.")
    .Input(2, "weight_tensor", "Optional: a float weight for each pixel, N x H x W.");
OPERATOR_SCHEMA(SpatialSoftmaxWithLossGradient)
    .FillUsing(Arguments)
    .FillUsing(DescribeSoftmaxLossGradient)
    .SetDoc(
        "The gradient of SpatialSoftmaxWithLoss for the logits. With weights they are input 2, "
        "and the last two inputs follow them.");
REGISTER_GRADIENT(SpatialSoftmaxWithLoss, SoftmaxLossGradientMaker);

}  // namespace caffe2
