// RMSNorm and its gradient on CUDA devices.
#include "operators/norm/column_sums_cuda.h"
#include "operators/norm/rms_norm_op.h"

namespace caffe2 {

template <typename T>
void RmsNormParameterGradients(int64_t rows, int64_t size, const T* dy, const T* x,
                               const ArithmeticType<T>* rrms, T* dgamma, T* dbeta,
                               CUDAContext* context) {
  const int64_t wanted = PartsOf(size, rows);
  const int64_t rows_per_part = (rows + wanted - 1) / std::max<int64_t>(1, wanted);
  const int64_t parts = rows == 0 ? 0 : (rows + rows_per_part - 1) / rows_per_part;
  DoubleRows partial(2, parts * size, context);
  ForEach(
      parts * size,
      RmsNormPartialSums<T>{rows, size, rows_per_part, dy, x, rrms, partial.row(0), partial.row(1)},
      context);
  ForEach(size, RmsNormAddParts<T>{size, parts, partial.row(0), partial.row(1), dgamma, dbeta},
          context);
}

REGISTER_CUDA_OPERATOR(RMSNorm, RmsNormOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(RMSNormGradient, RmsNormGradientOp<CUDAContext>);

}  // namespace caffe2
