// SoftmaxWithLoss and its gradient on CUDA devices. The loss and its gradient are float for all
// types of logits.
#include "caffe2/cuda/context_cuda.h"
#include "operators/activation/activation_types.h"
#include "operators/activation/softmax_kernels.h"
#include "operators/common/host_device_cuda.h"
#include "operators/loss/index_labels.h"
#include "operators/loss/softmax_with_loss_op.h"

namespace caffe2 {
namespace {

// `narrowed` must live as long as the result.
RowLabels LabelsOf(const Tensor& labels, const Tensor* weights, bool probabilities,
                   bool average_by_rows, Tensor* narrowed, CUDAContext* context) {
  RowLabels rows;
  if (probabilities) {
    rows.probability = labels.data<float>();
  } else {
    rows.index = IndexLabels(labels, narrowed, context);
  }
  if (weights != nullptr) rows.weight = weights->data<float>();
  if (!average_by_rows) rows.divisor = rows.weight;
  return rows;
}

class CudaSoftmaxWithLossOp final : public SoftmaxWithLossBase<CUDAContext> {
 public:
  using SoftmaxWithLossBase<CUDAContext>::SoftmaxWithLossBase;
  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &labels = Input(1);
    const Tensor* weights = InputSize() > 2 ? &Input(2) : nullptr;
    const Sizes s = CheckShapes(x, labels, weights);
    Tensor narrowed(context_.device());
    const RowLabels rows =
        LabelsOf(labels, weights, label_prob_, average_by_rows_, &narrowed, &context_);
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
  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const auto [x, labels, weights, p, d_loss, s] = ReadGradientInputs();
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    Tensor factor(context_.device());
    factor.Resize(1);
    Tensor narrowed(context_.device());
    const RowLabels rows =
        LabelsOf(labels, weights, label_prob_, average_by_rows_, &narrowed, &context_);
    LaunchSoftmaxLossGradient(s.n, s.d, p.data<T>(), rows, d_loss.data<float>(), scale_,
                              factor.mutable_data<float>(), dx->mutable_data<T>(),
                              context_.report(), context_.stream());
    return true;
  }
};

REGISTER_CUDA_OPERATOR(SoftmaxWithLoss, CudaSoftmaxWithLossOp);
REGISTER_CUDA_OPERATOR(SoftmaxWithLossGradient, CudaSoftmaxWithLossGradientOp);

}  // namespace
}  // namespace caffe2
