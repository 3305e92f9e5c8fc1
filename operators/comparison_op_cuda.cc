// EQ, NE, LT, LE, GT, GE, And, Or, Xor, Not and Where on CUDA devices.
#include "caffe2/cuda/context_cuda.h"
#include "operators/broadcast_strides.h"
#include "operators/comparison_kernels.h"
#include "operators/comparison_op.h"
#include "operators/where_op.h"

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
REGISTER_CUDA_OPERATOR(Where, WhereOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
