// NormSumNormRelu and its gradient on CUDA devices.
#include "operators/activation/activation_types.h"
#include "operators/norm/channel_scratch_cuda.h"
#include "operators/norm/norm_sum_kernels.h"
#include "operators/norm/norm_sum_op.h"

namespace caffe2 {
namespace {

class NormSumNormCudaBase : public NormSumNormBase<CUDAContext> {
 public:
  using NormSumNormBase::NormSumNormBase;

 protected:
  template <typename T>
  TwoNormedImages<T> Images(const ChannelShape& shape) const {
    return {Input(0).data<T>(), Input(2).data<T>(), Row(1, kMeanRow, shape),
            Row(3, kMeanRow, shape)};
  }
};

class CudaNormSumNormReluOp final : public NormSumNormCudaBase {
 public:
  using NormSumNormCudaBase::NormSumNormCudaBase;

  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const ChannelShape shape = CheckInputs();
    Output(0)->ResizeLike(Input(0));
    LaunchNormSumNormRelu(shape, Images<T>(shape), Output(0)->template mutable_data<T>(),
                          context_.stream());
    return true;
  }
};

class CudaNormSumNormReluGradientOp final : public NormSumNormCudaBase {
 public:
  using NormSumNormCudaBase::NormSumNormCudaBase;

  bool RunOnDevice() override {
    return ActivationTypes<CUDAContext>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const ChannelShape shape = CheckInputs();
    Output(0)->ResizeLike(Input(0));
    T* g = Output(0)->template mutable_data<T>();
    float* sums = ResizeBnParams(kBnParamsGradientRows, shape.channels, Output(1));
    float* z_sums = ResizeBnParams(kBnParamsGradientRows, shape.channels, Output(2));
    Tensor scratch(context_.device());
    LaunchNormSumNormReluGradient(shape, Images<T>(shape), Input(4).data<T>(), g, sums, z_sums,
                                  ResizeScratch(shape, &scratch), context_.stream());
    return true;
  }
};

REGISTER_CUDA_OPERATOR(NormSumNormRelu, CudaNormSumNormReluOp);
REGISTER_CUDA_OPERATOR(NormSumNormReluGradient, CudaNormSumNormReluGradientOp);

}  // namespace
}  // namespace caffe2
