#include "operators/elementwise/weighted_sum_op.h"

#include "caffe2/utils/simd.h"
#include "operators/common/wide_rows.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {
namespace {

// The number of elements that stay in the first-level cache while all inputs are added to them.
constexpr int64_t kBlockOfSum = 1024;

template <typename T>
inline void SetScaled(int64_t n, float weight, const T* x, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = weight * Widen(x[i]);
}
template <typename T>
inline void AddScaled(int64_t n, float weight, const T* x, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] += weight * Widen(x[i]);
}
CAFFE2_SIMD_CLONES void SetScaled(int64_t n, float weight, const float* x, float* y) {
  SetScaled<float>(n, weight, x, y);
}
CAFFE2_SIMD_CLONES void AddScaled(int64_t n, float weight, const float* x, float* y) {
  AddScaled<float>(n, weight, x, y);
}
inline void SetScaled(int64_t n, float weight, const float16* x, float* y) {
  float wide[kBlockOfSum];
  WidenRow(n, x, wide);
  SetScaled(n, weight, wide, y);
}
inline void AddScaled(int64_t n, float weight, const float16* x, float* y) {
  float wide[kBlockOfSum];
  WidenRow(n, x, wide);
  AddScaled(n, weight, wide, y);
}

// The value of a weight input. Throws EnforceNotMet unless it has one element.
float WeightOf(const Tensor& weight) {
  CAFFE_ENFORCE(weight.numel() == 1, "a weight must have one element, found shape ",
                ShapeString(weight.sizes()));
  return *weight.data<float>();
}

// One scaled input of a sum.
struct Term {
  const void* x;
  float weight;
};

// sum = elements [offset, offset + n) of the scaled inputs. n is at most kBlockOfSum. sum may be
// the elements of the first one.
template <typename T>
void Accumulate(const std::vector<Term>& terms, int64_t offset, int64_t n, float* sum) {
  for (size_t k = 0; k < terms.size(); ++k) {
    const T* x = static_cast<const T*>(terms[k].x) + offset;
    if (k == 0) {
      SetScaled(n, terms[k].weight, x, sum);
    } else {
      AddScaled(n, terms[k].weight, x, sum);
    }
  }
}

template <typename T>
void SumBlock(const std::vector<Term>& terms, int64_t offset, int64_t n, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    Accumulate<T>(terms, offset, n, y);
  } else {
    float sum[kBlockOfSum];
    Accumulate<T>(terms, offset, n, sum);
    NarrowRow(n, sum, y);
  }
}

template <typename T>
void SumTerms(const std::vector<Term>& terms, int64_t n, T* y) {
  ParallelFor(n, kElementwiseGrain, [&terms, y](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kBlockOfSum) {
      SumBlock(terms, i, std::min(kBlockOfSum, end - i), y + i);
    }
  });
}

class GetWeightedSumGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs = {GO(0)}, outputs;
    for (int i = 0; i < Def().input_size(); ++i) inputs.push_back(I(i));
    for (int i = 0; i < Def().input_size(); i += 2) outputs.push_back(GI(i));
    if (ArgumentHelper(Def()).GetSingleArgument<bool>("grad_on_w", false)) {
      for (int i = 1; i < Def().input_size(); i += 2) outputs.push_back(GI(i));
    }
    return SingleGradientDef("WeightedSumGradient", "", inputs, outputs);
  }
};

}  // namespace

template <>
template <typename T>
void WeightedSumOp<CPUContext>::Add(int64_t n, T* y) {
  std::vector<Term> terms;
  for (int k = 0; k < InputSize(); k += 2) {
    terms.push_back({Input(k).raw_data(), WeightOf(Input(k + 1))});
  }
  SumTerms(terms, n, y);
}

REGISTER_CPU_OPERATOR(WeightedSum, WeightedSumOp<CPUContext>);
REGISTER_CPU_OPERATOR(WeightedSumGradient, WeightedSumGradientOp<CPUContext>);

OPERATOR_SCHEMA(WeightedSum)
    .NumInputs([](int n) { return n > 0 && n % 2 == 0; })
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("weighted_sum = weight_0 * data_0 + weight_1 * data_1 + ..., for any number of pairs.")
    .Arg<bool>("grad_on_w", "1: the weights get a gradient too. Default 0.")
    .Input(0, "data_0",
           "Float, float16 or bfloat16 tensor; all data inputs have the same number of elements.")
    .Input(1, "weight_0", "Float tensor of one element; further pairs follow.")
    .Output(0, "weighted_sum", "The sum, shaped like data_0.");
OPERATOR_SCHEMA(WeightedSumGradient)
    .NumInputs([](int n) { return n > 2 && n % 2 == 1; })
    .NumOutputs(1, std::numeric_limits<int>::max())
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const size_t pairs = in.size() / 2;
      std::vector<TensorShape> out(def.output_size(), CreateTensorShape({1}, TensorProto::FLOAT));
      for (size_t k = 0; k < pairs && k < out.size(); ++k) out[k] = in[0];
      return out;
    })
    .SetDoc("Gradient of WeightedSum: d(data_k) = weight_k * dY; d(weight_k) = sum(dY * data_k).")
    .Arg<bool>("grad_on_w", "As in WeightedSum.")
    .Input(0, "dY", "Gradient of the sum; the inputs of WeightedSum follow.")
    .Output(0, "d_data_0", "Gradients of the data inputs, then with grad_on_w of the weights.");
REGISTER_GRADIENT(WeightedSum, GetWeightedSumGradient);

}  // namespace caffe2
