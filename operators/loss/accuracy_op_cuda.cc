// Accuracy on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/activation/activation_types.h"
#include "operators/activation/softmax_kernels.h"
#include "operators/common/host_device_cuda.h"
#include "operators/loss/index_labels.h"

namespace caffe2 {
namespace {

class CudaAccuracyOp final : public Operator<CUDAContext> {
 public:
  CudaAccuracyOp(const OperatorDef& def, Workspace* ws)
      : Operator<CUDAContext>(def, ws), top_k_(GetSingleArgument<int>("top_k", 1)) {
    CAFFE_ENFORCE(top_k_ > 0, "argument top_k must be positive, found ", top_k_);
  }
  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &x = Input(0), &labels = Input(1);
    CAFFE_ENFORCE(x.dim() == 2, "predictions must be a matrix, found shape ",
                  ShapeString(x.sizes()));
    const int64_t n = x.size(0);
    CAFFE_ENFORCE(labels.numel() == n,
                  "there must be one label for each row of predictions: labels has shape ",
                  ShapeString(labels.sizes()), ", predictions ", ShapeString(x.sizes()));
    Tensor hits(context_.device());
    hits.Resize(n);
    Tensor narrowed(context_.device());
    const int* indices = IndexLabels(labels, &narrowed, &context_);
    LaunchTopHits(n, x.size(1), top_k_, x.data<T>(), indices, hits.mutable_data<float>(),
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

REGISTER_CUDA_OPERATOR(Accuracy, CudaAccuracyOp);

}  // namespace
}  // namespace caffe2
