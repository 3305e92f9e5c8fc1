#include "operators/common/host_device_cuda.h"
#include "operators/reduce/selection_functions.h"
#include "operators/sparse/find_op.h"

namespace caffe2 {

template <typename T>
static void FindLast(int64_t n, const T* values, int64_t queries, const T* query, T missing, T* y,
                     CUDAContext* context) {
  ForEachRow(queries, n, FindLastPosition<T>{n, values, query, missing, y}, context);
}

REGISTER_CUDA_OPERATOR(Find, FindOp<CUDAContext>);

}  // namespace caffe2
