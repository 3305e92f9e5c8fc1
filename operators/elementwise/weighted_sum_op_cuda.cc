#include "operators/common/rate_input_cuda.h"
#include "operators/common/total_product_cuda.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/elementwise/weighted_sum_op.h"

namespace caffe2 {

template <>
template <typename T>
void WeightedSumOp<CUDAContext>::Add(int64_t n, T* y) {
  CAFFE_ENFORCE(InputSize() / 2 <= kMaxTerms, "WeightedSum takes at most ", kMaxTerms,
                " terms on CUDA devices, found ", InputSize() / 2);
  Terms terms;
  for (int k = 0; k < InputSize(); k += 2) {
    const CudaScalar weight = ReadScalar(Input<Tensor>(k + 1), "a weight");
    terms.x[terms.count] = Input(k).raw_data();
    terms.weight[terms.count] = weight.value;
    terms.weight_address[terms.count++] = weight.address;
  }
  LaunchWeightedSum(n, terms, y, context_.stream());
}

REGISTER_CUDA_OPERATOR(WeightedSum, WeightedSumOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(WeightedSumGradient, WeightedSumGradientOp<CUDAContext>);

}  // namespace caffe2
