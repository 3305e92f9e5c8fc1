// BitwiseAnd, BitwiseOr and BitwiseXor with broadcasting.
#include "operators/elementwise/elementwise_ops.h"

namespace caffe2 {
namespace {

using BitTypes = TensorTypes<int32_t, int64_t, bool>;

struct BitAndFunctor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOrFunctor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXorFunctor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

template <class F>
using BitwiseOp = BinaryElementwiseOp<BitTypes, CPUContext, CpuBinary<F>>;

void DescribeBitwise(OpSchema& schema) {
  DescribeBinary(schema);
  schema.AllowInplace({{0, 0}, {1, 0}}).TensorInferenceFunction(InferBinary());
}

}  // namespace

REGISTER_CPU_OPERATOR(BitwiseAnd, BitwiseOp<BitAndFunctor>);
REGISTER_CPU_OPERATOR(BitwiseOr, BitwiseOp<BitOrFunctor>);
REGISTER_CPU_OPERATOR(BitwiseXor, BitwiseOp<BitXorFunctor>);

OPERATOR_SCHEMA(BitwiseAnd)
    .FillUsing(DescribeBitwise)
    .SetDoc("C = A & B, bit by bit, of int32, int64 or bool.");
OPERATOR_SCHEMA(BitwiseOr)
    .FillUsing(DescribeBitwise)
    .SetDoc("C = A | B, bit by bit, of int32, int64 or bool.");
OPERATOR_SCHEMA(BitwiseXor)
    .FillUsing(DescribeBitwise)
    .SetDoc("C = A ^ B, bit by bit, of int32, int64 or bool.");
SHOULD_NOT_DO_GRADIENT(BitwiseAnd);
SHOULD_NOT_DO_GRADIENT(BitwiseOr);
SHOULD_NOT_DO_GRADIENT(BitwiseXor);

}  // namespace caffe2
