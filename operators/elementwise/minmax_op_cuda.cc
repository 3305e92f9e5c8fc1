#include "operators/common/combination_cuda.h"
#include "operators/elementwise/minmax_op.h"

namespace caffe2 {
namespace {

// Y[i] = the inputs at i, combined from the left.
template <Combination kCombination, class Types>
class CudaVariadicOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    std::vector<const T*> inputs;
    for (int k = 0; k < InputSize(); ++k) {
      CAFFE_ENFORCE(Input(k).sizes() == Input(0).sizes(),
                    "all inputs must have the same shape: input 0 has shape ",
                    ShapeString(Input(0).sizes()), ", input ", k, " ",
                    ShapeString(Input(k).sizes()));
      inputs.push_back(Input(k).template data<T>());
    }
    Tensor* Y = Output(0);
    Y->ResizeLike(Input(0));
    const float factor =
        kCombination == Combination::kSum ? 1.f / static_cast<float>(inputs.size()) : 1.f;
    CombineAll(kCombination, inputs, factor, Y->numel(), Y->template mutable_data<T>(), &context_);
    return true;
  }
};

using Max = CudaVariadicOp<Combination::kMax, NumericTypes>;
using Min = CudaVariadicOp<Combination::kMin, NumericTypes>;
using Mean = CudaVariadicOp<Combination::kSum, RealTypes>;

REGISTER_CUDA_OPERATOR(Max, Max);
REGISTER_CUDA_OPERATOR(Min, Min);
REGISTER_CUDA_OPERATOR(Mean, Mean);
REGISTER_CUDA_OPERATOR(MaxGradient, SelectGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MinGradient, SelectGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(MeanGradient, MeanGradientOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
