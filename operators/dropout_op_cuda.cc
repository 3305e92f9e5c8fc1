// Dropout on CUDA devices: it drops the same elements as on the CPU.
#include "caffe2/cuda/context_cuda.h"
#include "operators/dropout_kernels.h"
#include "operators/dropout_op.h"

namespace caffe2 {
namespace {

using ImageTypes = TensorTypes<float, float16, bfloat16>;

class CudaDropoutOp final : public DropoutBase<CUDAContext> {
 public:
  using DropoutBase<CUDAContext>::DropoutBase;
  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    const T* x_data = x.data<T>();
    Tensor* y = Output(0);
    if (y != &x) y->ResizeLike(x);
    T* y_data = y->mutable_data<T>();
    if (is_test_) {
      context_.Copy(x.numel(), x_data, y_data);
      return true;
    }
    CAFFE_ENFORCE_EQ(OutputSize(), 2, "Dropout in training writes its mask");
    Tensor* mask = Output(1);
    mask->ResizeLike(x);
    // A random word below this bound, a share of `ratio` of all, drops the element.
    const auto bound = static_cast<uint64_t>(static_cast<double>(ratio_) * 0x1p32);
    RandomGenerator& random = context_.random();
    LaunchDropout(x.numel(), x_data, random.seed(), random.position(), bound, 1 / (1 - ratio_),
                  mask->mutable_data<bool>(), y_data, context_.stream());
    random.set_position(random.position() + x.numel());
    return true;
  }
};

class CudaDropoutGradientOp final : public DropoutBase<CUDAContext> {
 public:
  using DropoutBase<CUDAContext>::DropoutBase;
  bool RunOnDevice() override { return ImageTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& dy = Input(0);
    const T* dy_data = dy.data<T>();
    Tensor* dx = Output(0);
    if (dx != &dy) dx->ResizeLike(dy);
    T* dx_data = dx->mutable_data<T>();
    if (is_test_) {
      context_.Copy(dy.numel(), dy_data, dx_data);
      return true;
    }
    CAFFE_ENFORCE_EQ(InputSize(), 2, "the gradient of Dropout in training reads its mask");
    const Tensor& mask = Input(1);
    CAFFE_ENFORCE_EQ(mask.numel(), dy.numel(), "mask ", ShapeString(mask.sizes()));
    LaunchDropoutGradient(dy.numel(), dy_data, mask.data<bool>(), 1 / (1 - ratio_), dx_data,
                          context_.stream());
    return true;
  }
};

REGISTER_CUDA_OPERATOR(Dropout, CudaDropoutOp);
REGISTER_CUDA_OPERATOR(DropoutGrad, CudaDropoutGradientOp);

}  // namespace
}  // namespace caffe2
