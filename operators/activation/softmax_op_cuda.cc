// Softmax, its losses and Accuracy on CUDA devices. The loss and its gradient are float whatever
// the logits are.
#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/reduction_kernels.h"
#include "operators/activation/softmax_kernels.h"
#include "operators/activation/softmax_op.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/loss/accuracy_op.h"
#include "operators/loss/averaged_loss_op.h"
#include "operators/loss/cross_entropy_op.h"
#include "operators/loss/softmax_with_loss_op.h"

namespace caffe2 {
namespace {

using LogitTypes = ActivationTypes<CUDAContext>;

RowLabels LabelsOf(const Tensor& labels, const Tensor* weights, bool probabilities,
                   bool average_by_rows) {
  RowLabels rows;
  if (probabilities) {
    rows.probability = labels.data<float>();
  } else {
    rows.index = labels.data<int>();
  }
  if (weights != nullptr) rows.weight = weights->data<float>();
  if (!average_by_rows) rows.divisor = rows.weight;
  return rows;
}

class CudaSoftmaxWithLossOp final : public SoftmaxWithLossBase<CUDAContext> {
 public:
  using SoftmaxWithLossBase<CUDAContext>::SoftmaxWithLossBase;
  bool RunOnDevice() override { return LogitTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &labels = Input(1);
    const Tensor* weights = InputSize() > 2 ? &Input(2) : nullptr;
    const Sizes s = CheckShapes(x, labels, weights);
    const RowLabels rows = LabelsOf(labels, weights, label_prob_, average_by_rows_);
    Tensor *p = Output(0), *loss = Output(1);
    p->ResizeLike(x);
    loss->Resize();
    Tensor losses(context_.device());
    losses.Resize(s.n);
    float* loss_data = losses.mutable_data<float>();
    LaunchSoftmaxLosses(s.n, s.d, x.data<T>(), rows, p->mutable_data<T>(), loss_data,
                        context_.report(), context_.stream());
    LaunchAverageLoss(s.n, loss_data, rows.divisor, scale_, loss->mutable_data<float>(),
                      context_.stream());
    return true;
  }
};

class CudaSoftmaxWithLossGradientOp final : public SoftmaxWithLossBase<CUDAContext> {
 public:
  using SoftmaxWithLossBase<CUDAContext>::SoftmaxWithLossBase;
  bool RunOnDevice() override { return LogitTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const bool weighted = InputSize() > 4;
    const Tensor &x = Input(0), &labels = Input(1);
    const Tensor* weights = weighted ? &Input(2) : nullptr;
    const Tensor &p = Input(weighted ? 3 : 2), &d_loss = Input(weighted ? 4 : 3);
    const Sizes s = CheckShapes(x, labels, weights);
    CAFFE_ENFORCE_EQ(p.numel(), x.numel(), "softmax ", ShapeString(p.sizes()));
    CAFFE_ENFORCE_EQ(d_loss.numel(), 1, "the gradient of the loss must be a scalar");
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    Tensor factor(context_.device());
    factor.Resize(1);
    const RowLabels rows = LabelsOf(labels, weights, label_prob_, average_by_rows_);
    LaunchSoftmaxLossGradient(s.n, s.d, p.data<T>(), rows, d_loss.data<float>(), scale_,
                              factor.mutable_data<float>(), dx->mutable_data<T>(),
                              context_.report(), context_.stream());
    return true;
  }
};

class CudaLabelCrossEntropyOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &x = Input(0), &labels = Input(1);
    const int64_t n = CheckIndexLabels(x, labels);
    Tensor* y = Output(0);
    y->Resize(n);
    LaunchLabelCrossEntropy(n, n == 0 ? 0 : x.numel() / n, x.data<float>(), labels.data<int>(),
                            y->mutable_data<float>(), context_.report(), context_.stream());
    return true;
  }
};

class CudaLabelCrossEntropyGradientOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &x = Input(0), &labels = Input(1), &dy = Input(2);
    const int64_t n = CheckIndexLabels(x, labels);
    CAFFE_ENFORCE_EQ(dy.numel(), n, "gradient ", ShapeString(dy.sizes()), ": one value per row");
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    LaunchLabelCrossEntropyGradient(n, n == 0 ? 0 : x.numel() / n, x.data<float>(),
                                    labels.data<int>(), dy.data<float>(), dx->mutable_data<float>(),
                                    context_.report(), context_.stream());
    return true;
  }
};

class CudaAccuracyOp final : public Operator<CUDAContext> {
 public:
  CudaAccuracyOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), top_k_(GetSingleArgument<int>("top_k", 1)) {
    CAFFE_ENFORCE_GT(top_k_, 0, "argument top_k");
  }
  bool RunOnDevice() override { return LogitTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &labels = Input(1);
    CAFFE_ENFORCE_EQ(x.dim(), 2, "predictions ", ShapeString(x.sizes()));
    const int64_t n = x.size(0);
    CAFFE_ENFORCE_EQ(labels.numel(), n, "label ", ShapeString(labels.sizes()), " for predictions ",
                     ShapeString(x.sizes()));
    Tensor hits(context_.device());
    hits.Resize(n);
    LaunchTopHits(n, x.size(1), top_k_, x.data<T>(), labels.data<int>(), hits.mutable_data<float>(),
                  context_.report(), context_.stream());
    Tensor* accuracy = Output(0);
    accuracy->Resize();
    LaunchAverageLoss(n, static_cast<const float*>(hits.raw_data()), nullptr, 1.f,
                      accuracy->mutable_data<float>(), context_.stream());
    return true;
  }

 private:
  int top_k_;
};

REGISTER_CUDA_OPERATOR(SoftmaxWithLoss, CudaSoftmaxWithLossOp);
REGISTER_CUDA_OPERATOR(SoftmaxWithLossGradient, CudaSoftmaxWithLossGradientOp);
REGISTER_CUDA_OPERATOR(LabelCrossEntropy, CudaLabelCrossEntropyOp);
REGISTER_CUDA_OPERATOR(LabelCrossEntropyGradient, CudaLabelCrossEntropyGradientOp);
REGISTER_CUDA_OPERATOR(Accuracy, CudaAccuracyOp);

}  // namespace

template <>
template <typename T>
void SoftmaxOp<CUDAContext>::Rows(int64_t rows, int64_t d, const T* x, T* y) {
  LaunchSoftmax(rows, d, x, y, context_.stream());
}

template <>
template <typename T>
void SoftmaxGradientOp<CUDAContext>::Rows(int64_t rows, int64_t d, const T* y, const T* dy, T* dx) {
  LaunchSoftmaxGradient(rows, d, y, dy, dx, context_.stream());
}

REGISTER_CUDA_OPERATOR(Softmax, SoftmaxOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SoftmaxGradient, SoftmaxGradientOp<CUDAContext>);

// The mean of all elements.
template <>
bool AveragedLossOp<CUDAContext>::RunOnDevice() {
  const Tensor& x = Input(0);
  Tensor* mean = Output(0);
  mean->Resize();
  LaunchAverageLoss(x.numel(), x.data<float>(), nullptr, 1.f, mean->mutable_data<float>(),
                    context_.stream());
  return true;
}

template <>
bool AveragedLossGradientOp<CUDAContext>::RunOnDevice() {
  const Tensor &x = Input(0), &d_mean = Input(1);
  CAFFE_ENFORCE_EQ(d_mean.numel(), 1, "the gradient of the mean must be a scalar");
  Tensor* dx = Output(0);
  dx->ResizeLike(x);
  LaunchFillFrom(x.numel(), 1.f / static_cast<float>(std::max<int64_t>(1, x.numel())),
                 d_mean.data<float>(), dx->mutable_data<float>(), context_.stream());
  return true;
}

REGISTER_CUDA_OPERATOR(AveragedLoss, AveragedLossOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AveragedLossGradient, AveragedLossGradientOp<CUDAContext>);

}  // namespace caffe2
