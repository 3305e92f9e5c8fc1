// Add, Sub, Mul, Div with broadcasting.
#include "caffe2/utils/simd.h"
#include "operators/elementwise/elementwise_ops.h"

namespace caffe2 {
namespace {

using Row = void(int64_t n, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                 float* c);
Row AddRow, SubRow, MulRow, DivRow;

struct AddFunctor {
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
  static constexpr Row* FloatRow = AddRow;
};
struct SubFunctor {
  template <typename T>
  T operator()(T a, T b) const {
    return a - b;
  }
  static constexpr Row* FloatRow = SubRow;
};
struct MulFunctor {
  template <typename T>
  T operator()(T a, T b) const {
    return a * b;
  }
  static constexpr Row* FloatRow = MulRow;
};
struct DivFunctor {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      CAFFE_ENFORCE(b != 0, "integer division by zero");
      // The one quotient that overflows traps on x86.
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    }
    return a / b;
  }
  static constexpr Row* FloatRow = DivRow;
};

CAFFE2_SIMD_CLONES void AddRow(int64_t n, const float* a, int64_t a_stride, const float* b,
                               int64_t b_stride, float* c) {
  BinaryRow(AddFunctor(), n, a, a_stride, b, b_stride, c);
}
CAFFE2_SIMD_CLONES void SubRow(int64_t n, const float* a, int64_t a_stride, const float* b,
                               int64_t b_stride, float* c) {
  BinaryRow(SubFunctor(), n, a, a_stride, b, b_stride, c);
}
CAFFE2_SIMD_CLONES void MulRow(int64_t n, const float* a, int64_t a_stride, const float* b,
                               int64_t b_stride, float* c) {
  BinaryRow(MulFunctor(), n, a, a_stride, b, b_stride, c);
}
CAFFE2_SIMD_CLONES void DivRow(int64_t n, const float* a, int64_t a_stride, const float* b,
                               int64_t b_stride, float* c) {
  BinaryRow(DivFunctor(), n, a, a_stride, b, b_stride, c);
}

void DescribeArithmetic(OpSchema& schema) {
  DescribeBinary(schema);
  schema.AllowInplace({{0, 0}, {1, 0}}).TensorInferenceFunction(InferBinary());
}

}  // namespace

REGISTER_CPU_OPERATOR(Add, BinaryElementwiseOp<NumericTypes, CPUContext, CpuBinary<AddFunctor>>);
REGISTER_CPU_OPERATOR(Sub, BinaryElementwiseOp<NumericTypes, CPUContext, CpuBinary<SubFunctor>>);
REGISTER_CPU_OPERATOR(Mul, BinaryElementwiseOp<NumericTypes, CPUContext, CpuBinary<MulFunctor>>);
REGISTER_CPU_OPERATOR(Div, BinaryElementwiseOp<NumericTypes, CPUContext, CpuBinary<DivFunctor>>);

OPERATOR_SCHEMA(Add).FillUsing(DescribeArithmetic).SetDoc("C = A + B, element by element.");
OPERATOR_SCHEMA(Sub).FillUsing(DescribeArithmetic).SetDoc("C = A - B, element by element.");
OPERATOR_SCHEMA(Mul).FillUsing(DescribeArithmetic).SetDoc("C = A * B, element by element.");
OPERATOR_SCHEMA(Div)
    .FillUsing(DescribeArithmetic)
    .SetDoc(
        "C = A / B, element by element. Integers round towards zero; dividing one by zero is "
        "an error.");

}  // namespace caffe2
