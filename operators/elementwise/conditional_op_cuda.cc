#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/conditional_op.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/reduce/selection_functions.h"

namespace caffe2 {

template <typename T>
static void FindLast(int64_t n, const T* values, int64_t queries, const T* query, T missing, T* y,
                     CUDAContext* context) {
  ForEachRow(queries, n, FindLastPosition<T>{n, values, query, missing, y}, context);
}

namespace {

// Takes each row from the second or the third input, as the first input says.
class CudaConditionalOp final : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &condition = Input(0), &yes = Input(1), &no = Input(2);
    CheckChoices(condition, yes, no);
    const TypeMeta meta = yes.dtype();
    CAFFE_ENFORCE(meta.copy() == nullptr && meta.itemsize() <= 8, "elements of type ", meta.name(),
                  " exist in host memory only");
    const bool* choose = condition.data<bool>();
    Output(0)->ResizeLike(yes);
    LaunchSelect(yes.numel(), yes.size_from_dim(1), meta.itemsize(), choose, yes.raw_data(),
                 no.raw_data(), Output(0)->raw_mutable_data(meta), context_.stream());
    return true;
  }
};

REGISTER_CUDA_OPERATOR(Conditional, CudaConditionalOp);
REGISTER_CUDA_OPERATOR(Find, FindOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
