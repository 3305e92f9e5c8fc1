// Sum and WeightedSum on CUDA devices.
#include "operators/common/combination_cuda.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/elementwise/sum_op.h"
#include "operators/elementwise/weighted_sum_op.h"

namespace caffe2 {

template <>
template <typename T>
void SumOp<CUDAContext>::Add(int64_t n, T* y) {
  if constexpr (sizeof(T) == 2) {
    if (inputs_.size() > static_cast<size_t>(kMostTerms)) {  // partial sums stay float
      std::vector<const T*> inputs;
      for (const void* input : inputs_) inputs.push_back(static_cast<const T*>(input));
      return CombineAll(Combination::kSum, inputs, 1.f, n, y, &context_);
    }
  }
  Terms terms;
  terms.x[terms.count++] = inputs_[0];
  for (size_t i = 1; i < inputs_.size(); ++i) {
    terms.x[terms.count++] = inputs_[i];
    if (terms.count < kMostTerms && i + 1 < inputs_.size()) continue;
    LaunchSum(n, terms, y, context_.stream());
    terms.count = 0;
    terms.x[terms.count++] = y;
  }
}

template <>
template <typename T>
void WeightedSumOp<CUDAContext>::Add(int64_t n, T* y) {
  CAFFE_ENFORCE_LE(InputSize() / 2, kMostTerms, "too many terms for one WeightedSum");
  Terms terms;
  for (int k = 0; k < InputSize(); k += 2) {
    const CudaScalar weight = ReadScalar(Input<Tensor>(k + 1), "a weight");
    terms.x[terms.count] = Input(k).raw_data();
    terms.weight[terms.count] = weight.value;
    terms.weight_address[terms.count++] = weight.address;
  }
  LaunchWeightedSum(n, terms, y, context_.stream());
}

REGISTER_CUDA_OPERATOR(Sum, SumOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(WeightedSum, WeightedSumOp<CUDAContext>);

}  // namespace caffe2
