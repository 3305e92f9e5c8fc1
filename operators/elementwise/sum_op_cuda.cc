#include "operators/common/combination_cuda.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/elementwise/sum_op.h"

namespace caffe2 {

template <>
template <typename T>
void SumOp<CUDAContext>::Add(int64_t n, T* y) {
  if constexpr (sizeof(T) == 2) {
    if (inputs_.size() > static_cast<size_t>(kMaxTerms)) {  // partial sums stay float
      std::vector<const T*> inputs;
      for (const void* input : inputs_) inputs.push_back(static_cast<const T*>(input));
      return CombineAll(Combination::kSum, inputs, 1.f, n, y, &context_);
    }
  }
  Terms terms;
  terms.x[terms.count++] = inputs_[0];
  for (size_t i = 1; i < inputs_.size(); ++i) {
    terms.x[terms.count++] = inputs_[i];
    if (terms.count < kMaxTerms && i + 1 < inputs_.size()) continue;
    LaunchSum(n, terms, y, context_.stream());
    terms.count = 0;
    terms.x[terms.count++] = y;
  }
}

REGISTER_CUDA_OPERATOR(Sum, SumOp<CUDAContext>);

}  // namespace caffe2
