#include "operators/elementwise/where_op_cuda.h"

#include "operators/elementwise/elementwise_kernels.h"

namespace caffe2 {

void SelectRows(int64_t rows, int64_t width, const bool* choose, const Tensor& x, const Tensor& y,
                Tensor* z, CUDAContext* context) {
  const TypeMeta type = x.dtype();
  CAFFE_ENFORCE(type.copy() == nullptr && type.itemsize() <= 8, "elements of type ", type.name(),
                " exist in host memory only");
  z->ResizeLike(x);
  LaunchSelect(rows * width, width, type.itemsize(), choose, x.raw_data(), y.raw_data(),
               z->raw_mutable_data(type), context->stream());
}

REGISTER_CUDA_OPERATOR(Where, WhereOp<CUDAContext>);

}  // namespace caffe2
