// What is known of a tensor without its values, on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "caffe2/cuda/host_values.h"
#include "operators/shape/shape_op.h"

namespace caffe2 {
namespace {

class CudaFreeOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    if (cuda::RecordedHostValues() != nullptr) throw Error("it empties blobs");
    for (Blob* blob : Outputs()) blob->Reset();
    return true;
  }
};

REGISTER_CUDA_OPERATOR(Shape, ShapeOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Size, SizeOp<CUDAContext, SizeFunctor>);
REGISTER_CUDA_OPERATOR(IsEmpty, SizeOp<CUDAContext, IsEmptyFunctor>);
REGISTER_CUDA_OPERATOR(HasElements, HasElementsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Free, CudaFreeOp);

}  // namespace
}  // namespace caffe2
