// Comparisons, logic, bits, Where and Conditional on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/common/broadcast_strides.h"
#include "operators/elementwise/comparison_kernels.h"
#include "operators/elementwise/comparison_op.h"
#include "operators/elementwise/conditional_op.h"
#include "operators/elementwise/where_op.h"

namespace caffe2 {

template <typename T>
void Select(int64_t rows, int64_t row, const bool* choose, const T* x, const T* y, T* z,
            CUDAContext* context) {
  LaunchSelect(rows * row, row, sizeof(T), choose, x, y, z, context->stream());
}

namespace {

template <Comparison kComparison>
struct CudaCompare {
  explicit CudaCompare(const OperatorBase&) {}
  template <typename T>
  void operator()(const BroadcastPlan& plan, const T* a, const T* b, bool* c,
                  CUDAContext* context) const {
    LaunchCompare(kComparison, StridesOf(plan), plan.a_full() && plan.b_full(), plan.numel, a, b, c,
                  context->stream());
  }
};
template <class Types, Comparison kComparison>
using Compare = BinaryElementwiseOp<Types, CUDAContext, CudaCompare<kComparison>, FixedType<bool>>;

template <Bits kBits>
struct CudaBits {
  explicit CudaBits(const OperatorBase&) {}
  template <typename T>
  void operator()(const BroadcastPlan& plan, const T* a, const T* b, T* c,
                  CUDAContext* context) const {
    LaunchBits(kBits, StridesOf(plan), plan.numel, a, b, c, context->stream());
  }
};
template <Bits kBits>
using Bitwise =
    BinaryElementwiseOp<TensorTypes<int32_t, int64_t, bool>, CUDAContext, CudaBits<kBits>>;

// Rows of the second or of the third input, as the first says.
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

struct CudaNot {
  explicit CudaNot(const OperatorBase&) {}
  void operator()(int64_t n, const bool* x, bool* y, CUDAContext* context) const {
    LaunchNot(n, x, y, context->stream());
  }
};

REGISTER_CUDA_OPERATOR(EQ, Compare<EqualityTypes, Comparison::kEqual>);
REGISTER_CUDA_OPERATOR(NE, Compare<EqualityTypes, Comparison::kNotEqual>);
REGISTER_CUDA_OPERATOR(LT, Compare<OrderTypes, Comparison::kLess>);
REGISTER_CUDA_OPERATOR(LE, Compare<OrderTypes, Comparison::kLessEqual>);
REGISTER_CUDA_OPERATOR(GT, Compare<OrderTypes, Comparison::kGreater>);
REGISTER_CUDA_OPERATOR(GE, Compare<OrderTypes, Comparison::kGreaterEqual>);
REGISTER_CUDA_OPERATOR(And, Compare<BoolTypes, Comparison::kAnd>);
REGISTER_CUDA_OPERATOR(Or, Compare<BoolTypes, Comparison::kOr>);
REGISTER_CUDA_OPERATOR(Xor, Compare<BoolTypes, Comparison::kNotEqual>);
REGISTER_CUDA_OPERATOR(Not, UnaryElementwiseOp<BoolTypes, CUDAContext, CudaNot>);
REGISTER_CUDA_OPERATOR(BitwiseAnd, Bitwise<Bits::kAnd>);
REGISTER_CUDA_OPERATOR(BitwiseOr, Bitwise<Bits::kOr>);
REGISTER_CUDA_OPERATOR(BitwiseXor, Bitwise<Bits::kXor>);
REGISTER_CUDA_OPERATOR(Where, WhereOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Conditional, CudaConditionalOp);

}  // namespace
}  // namespace caffe2
