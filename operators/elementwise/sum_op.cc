#include "operators/elementwise/sum_op.h"

#include "caffe2/utils/simd.h"
#include "operators/common/wide_rows.h"

namespace caffe2 {
namespace {

// The number of elements that stay in the first-level cache while all inputs are added to them.
constexpr int64_t kBlock = 1024;

template <typename T>
inline void AddTo(int64_t n, const T* x, ArithmeticType<T>* sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += Widen(x[i]);
}
template <typename T>
inline void AddPair(int64_t n, const T* a, const T* b, ArithmeticType<T>* sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] = Widen(a[i]) + Widen(b[i]);
}
CAFFE2_SIMD_CLONES void AddTo(int64_t n, const float* x, float* sum) { AddTo<float>(n, x, sum); }
CAFFE2_SIMD_CLONES void AddPair(int64_t n, const float* a, const float* b, float* sum) {
  AddPair<float>(n, a, b, sum);
}
CAFFE2_SIMD_CLONES void AddTo(int64_t n, const bfloat16* x, float* sum) {
  AddTo<bfloat16>(n, x, sum);
}
CAFFE2_SIMD_CLONES void AddPair(int64_t n, const bfloat16* a, const bfloat16* b, float* sum) {
  AddPair<bfloat16>(n, a, b, sum);
}
inline void AddTo(int64_t n, const float16* x, float* sum) {
  float wide[kBlock];
  WidenRow(n, x, wide);
  AddTo(n, wide, sum);
}
inline void AddPair(int64_t n, const float16* a, const float16* b, float* sum) {
  WidenRow(n, a, sum);
  AddTo(n, b, sum);
}

// sum = elements [offset, offset + n) of all inputs, at least two. n is at most kBlock. sum may be
// the elements of the first input.
template <typename T>
void Accumulate(const std::vector<const void*>& inputs, int64_t offset, int64_t n,
                ArithmeticType<T>* sum) {
  const auto from = [&](size_t k) { return static_cast<const T*>(inputs[k]) + offset; };
  AddPair(n, from(0), from(1), sum);
  for (size_t k = 2; k < inputs.size(); ++k) AddTo(n, from(k), sum);
}

template <typename T>
void SumBlock(const std::vector<const void*>& inputs, int64_t offset, int64_t n, T* y) {
  if constexpr (std::is_same_v<T, ArithmeticType<T>>) {
    Accumulate<T>(inputs, offset, n, y);
  } else {
    float sum[kBlock];
    Accumulate<T>(inputs, offset, n, sum);
    NarrowRow(n, sum, y);
  }
}

class GetSumGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    for (int i = 0; i < Def().input_size(); ++i) SetDense(i, GO(0));
    return {};
  }
};

}  // namespace

template <>
template <typename T>
void SumOp<CPUContext>::Add(int64_t n, T* y) {
  ParallelFor(n, kElementwiseGrain, [this, y](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kBlock) {
      SumBlock(inputs_, i, std::min(kBlock, end - i), y + i);
    }
  });
}

REGISTER_CPU_OPERATOR(Sum, SumOp<CPUContext>);
OPERATOR_SCHEMA(Sum)
    .NumInputs(1, std::numeric_limits<int>::max())
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .InputsCanCrossDevices()
    .SetDoc(
        "The element-wise sum of all inputs, in the order of the inputs. 16-bit types are "
        "summed in float.")
    .Input(0, "data_0", "First of the inputs, all of one type and shape. May be the output.")
    .Output(0, "sum", "The sum.");
REGISTER_GRADIENT(Sum, GetSumGradient);

}  // namespace caffe2
