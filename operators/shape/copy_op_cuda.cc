// Copies on CUDA devices and between devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/common/copy_elements.h"

namespace caffe2 {
namespace {

// Input 0, on any device -> this device or, for CopyOnDeviceLike, the device of input 1.
template <bool kLikeInput>
class CopyToDeviceOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input<Tensor>(0);
    CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
    const Device device = kLikeInput ? Input<Tensor>(1).device() : context_.device();
    Tensor* Y = BlobGetMutableTensor(OutputBlob(0), device);
    if (device.type != CUDA) {
      Y->CopyFrom(X);
      return true;
    }
    CAFFE_ENFORCE(X.dtype().copy() == nullptr, "elements of type ", X.dtype().name(),
                  " exist in host memory only");
    if (IsInputOutputAlias(0, 0)) return true;
    Y->ResizeLike(X);
    CopyInOrder(X.nbytes(), X.raw_data(), X.device(), Y->raw_mutable_data(X.dtype()), device);
    return true;
  }
};

// Input 0, on any device -> host memory.
class CopyToHostOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input<Tensor>(0);
    CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
    OutputCPU(0)->CopyFrom(X);
    return true;
  }
};

REGISTER_CUDA_OPERATOR(Copy, CopyToDeviceOp<false>);
REGISTER_CUDA_OPERATOR(CopyFromCPUInput, CopyToDeviceOp<false>);
REGISTER_CUDA_OPERATOR(CopyCPUToGPU, CopyToDeviceOp<false>);
REGISTER_CUDA_OPERATOR(CopyOnDeviceLike, CopyToDeviceOp<true>);
REGISTER_CUDA_OPERATOR(CopyGPUToCPU, CopyToHostOp);
REGISTER_CUDA_OPERATOR(EnsureCPUOutput, CopyToHostOp);
REGISTER_CUDA_OPERATOR(Alias, AliasOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AliasWithName, AliasOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
