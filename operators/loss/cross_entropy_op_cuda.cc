// LabelCrossEntropy, CrossEntropy and MakeTwoClass with their gradients on CUDA devices.
#include "operators/activation/softmax_kernels.h"
#include "operators/common/host_device_cuda.h"
#include "operators/loss/cross_entropy_op.h"
#include "operators/loss/index_labels.h"

namespace caffe2 {
namespace {

class CudaLabelCrossEntropyOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &x = Input(0), &labels = Input(1);
    const int64_t n = CheckIndexLabels(x, labels);
    Tensor* y = Output(0);
    y->Resize(n);
    Tensor narrowed(context_.device());
    const int* indices = IndexLabels(labels, &narrowed, &context_);
    LaunchLabelCrossEntropy(n, n == 0 ? 0 : x.numel() / n, x.data<float>(), indices,
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
    CAFFE_ENFORCE(dy.numel() == n, "the gradient must have one value for each of the ", n,
                  " rows, found shape ", ShapeString(dy.sizes()));
    Tensor* dx = Output(0);
    dx->ResizeLike(x);
    Tensor narrowed(context_.device());
    const int* indices = IndexLabels(labels, &narrowed, &context_);
    LaunchLabelCrossEntropyGradient(n, n == 0 ? 0 : x.numel() / n, x.data<float>(), indices,
                                    dy.data<float>(), dx->mutable_data<float>(), context_.report(),
                                    context_.stream());
    return true;
  }
};

REGISTER_CUDA_OPERATOR(LabelCrossEntropy, CudaLabelCrossEntropyOp);
REGISTER_CUDA_OPERATOR(LabelCrossEntropyGradient, CudaLabelCrossEntropyGradientOp);
REGISTER_CUDA_OPERATOR(CrossEntropy, CrossEntropyOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(CrossEntropyGradient, CrossEntropyGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MakeTwoClass, MakeTwoClassOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MakeTwoClassGradient, MakeTwoClassGradientOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
