// Kernels of Max, Min, Mean, RowMul and sums of rows.
#include "operators/common/combination_functions.h"
#include "operators/common/host_device_kernel.h"

namespace caffe2 {

INSTANTIATE_FOR_EACH_REAL(CombineInputs);
INSTANTIATE_FOR_EACH(CombineInputs<double>);
INSTANTIATE_FOR_EACH(CombineInputs<int32_t>);
INSTANTIATE_FOR_EACH(CombineInputs<int64_t>);
INSTANTIATE_FOR_EACH_REAL(SelectGradient);
INSTANTIATE_FOR_EACH(SelectGradient<double>);
INSTANTIATE_FOR_EACH(SelectGradient<int32_t>);
INSTANTIATE_FOR_EACH(SelectGradient<int64_t>);
INSTANTIATE_FOR_EACH_REAL(MultiplyRows);
INSTANTIATE_FOR_EACH_ROW_REAL(SumOfRows);
INSTANTIATE_FOR_EACH_REAL(WeightedSumOfRows);
INSTANTIATE_FOR_EACH_REAL(OuterProduct);

}  // namespace caffe2
