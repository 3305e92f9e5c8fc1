// Max, Min, Mean, RowMul and sums of rows on CUDA devices.
#include "operators/element_type.h"
#include "operators/minmax_op.h"
#include "operators/portable_cuda.h"
#include "operators/row_mul_op.h"

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
    using Combine = CombineInputs<T>;
    std::vector<const T*> inputs;
    for (int k = 0; k < InputSize(); ++k) {
      CAFFE_ENFORCE(Input(k).sizes() == Input(0).sizes(), "inputs of different shapes: input 0 is ",
                    ShapeString(Input(0).sizes()), ", input ", k, " is ",
                    ShapeString(Input(k).sizes()));
      inputs.push_back(Input(k).template data<T>());
    }
    // Partial sums would be rounded to 16 bits, or overflow them.
    CAFFE_ENFORCE(kCombination != Combination::kSum || sizeof(T) > 2 ||
                      inputs.size() <= static_cast<size_t>(Combine::kMost),
                  this->type(), " of ", inputs.size(), " inputs of 16 bits; at most ",
                  Combine::kMost);
    Tensor* Y = Output(0);
    Y->ResizeLike(Input(0));
    T* y = Y->template mutable_data<T>();
    size_t next = 0;
    do {
      Combine combine{.combination = kCombination, .count = 0, .x = {}, .factor = 1.f, .y = y};
      if (next > 0) combine.x[combine.count++] = y;
      while (next < inputs.size() && combine.count < Combine::kMost) {
        combine.x[combine.count++] = inputs[next++];
      }
      if (next == inputs.size() && kCombination == Combination::kSum) {
        combine.factor = 1.f / static_cast<float>(inputs.size());
      }
      ForEach(Y->numel(), combine, &context_);
    } while (next < inputs.size());
    return true;
  }
};

// dX_k = dY / n
class CudaMeanGradientOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& dY = Input(0);
    const T* dy = dY.data<T>();
    // The output that may overwrite dY goes last.
    for (int k = OutputSize() - 1; k >= 0; --k) {
      Output(k)->ResizeLike(dY);
      ForEach(dY.numel(),
              CombineInputs<T>{.combination = Combination::kSum,
                               .count = 1,
                               .x = {dy},
                               .factor = 1.f / static_cast<float>(OutputSize()),
                               .y = Output(k)->template mutable_data<T>()},
              &context_);
    }
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
REGISTER_CUDA_OPERATOR(MeanGradient, CudaMeanGradientOp);
REGISTER_CUDA_OPERATOR(RowMul, RowMulOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ReduceTailSum, ReduceTailSumOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ReduceFrontWeightedSum, ReduceFrontWeightedSumOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ReduceFrontWeightedSumGradient,
                       ReduceFrontWeightedSumGradientOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
