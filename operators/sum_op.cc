#include "caffe2/utils/simd.h"
#include "operators/copy_elements.h"
#include "operators/wide_rows.h"

namespace caffe2 {
namespace {

// Elements that stay in the first-level cache while all inputs are added to them.
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

template <class Context>
class SumOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SumOp);

  bool RunOnDevice() override {
    const Tensor& first = Input(0);
    for (int i = 1; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).sizes() == first.sizes(), "inputs of different shapes: input 0 is ",
                    ShapeString(first.sizes()), ", input ", i, " is ",
                    ShapeString(Input(i).sizes()));
    }
    if (InputSize() == 1) {
      CopyTensor(first, Output(0), &context_);
      return true;
    }
    return NumericTypes::Dispatch(this, first.dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& first = Input(0);
    for (int i = 0; i < InputSize(); ++i) Input(i).template data<T>();  // one type, with data
    Tensor* Y = Output(0);
    Y->ResizeLike(first);
    T* y = Y->template mutable_data<T>();
    ParallelFor(first.numel(), kElementwiseGrain, [this, y](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kBlock) SumBlock(i, std::min(kBlock, end - i), y + i);
    });
    return true;
  }

 private:
  // y = the sum of elements [offset, offset + n) of all inputs. y may be input 0.
  template <typename T>
  void SumBlock(int64_t offset, int64_t n, T* y) {
    if constexpr (std::is_same_v<T, ArithmeticType<T>>) {
      Accumulate<T>(offset, n, y);
    } else {
      float sum[kBlock];
      Accumulate<T>(offset, n, sum);
      NarrowRow(n, sum, y);
    }
  }
  template <typename T>
  void Accumulate(int64_t offset, int64_t n, ArithmeticType<T>* sum) {
    AddPair(n, InputData<T>(0) + offset, InputData<T>(1) + offset, sum);
    for (int k = 2; k < InputSize(); ++k) AddTo(n, InputData<T>(k) + offset, sum);
  }
  template <typename T>
  const T* InputData(int i) const {
    return static_cast<const T*>(Input(i).raw_data());
  }
};

class GetSumGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    for (int i = 0; i < Def().input_size(); ++i) SetDense(i, GO(0));
    return {};
  }
};

}  // namespace

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
