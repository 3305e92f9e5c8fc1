// Max, Min and Mean over any number of tensors of one shape.
#include "operators/elementwise/minmax_op.h"

#include "operators/common/wide_rows.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {
namespace {

struct MeanFunctor : SumReducer {
  // The last step on the sum of n inputs.
  template <typename T>
  static T Finish(T sum, int n) {
    return sum * (T(1) / static_cast<T>(n));  // as Caffe2, and as on devices
  }
};

// Y[i] = the inputs at i, combined by F from the left.
template <class Context, class F, class Types>
class VariadicOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(VariadicOp);
  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& first = Input(0);
    for (int k = 0; k < InputSize(); ++k) {
      CAFFE_ENFORCE(Input(k).sizes() == first.sizes(),
                    "all inputs must have the same shape: input 0 has shape ",
                    ShapeString(first.sizes()), ", input ", k, " ", ShapeString(Input(k).sizes()));
      Input(k).template data<T>();  // of the right type, and with data
    }
    Tensor* Y = Output(0);
    Y->ResizeLike(first);
    T* y = Y->template mutable_data<T>();
    ParallelFor(first.numel(), kElementwiseGrain, [this, y](int64_t begin, int64_t end) {
      WideInput<T> input;
      WideOutput<T> output;
      for (int64_t i = begin; i < end; i += kWideBlock) {
        const int64_t n = std::min(kWideBlock, end - i);
        Combine(i, n, &input, output.Row(n, y + i));
        output.Store();
      }
    });
    return true;
  }

 private:
  // Combines elements [offset, offset + n) of all inputs. `result` may be the elements of input 0.
  template <typename T>
  void Combine(int64_t offset, int64_t n, WideInput<T>* input, ArithmeticType<T>* result) {
    for (int k = 0; k < InputSize(); ++k) {
      const auto* x = input->Row(n, static_cast<const T*>(Input(k).raw_data()) + offset);
      if (k == 0) {
        if (x != result) std::copy_n(x, n, result);
      } else {
        for (int64_t i = 0; i < n; ++i) result[i] = F::Combine(result[i], x[i]);
      }
    }
    if constexpr (requires { F::Finish(*result, 1); }) {
      for (int64_t i = 0; i < n; ++i) result[i] = F::Finish(result[i], InputSize());
    }
  }
};

class GetSelectGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(I(0) != O(0), "the gradient of ", Def().type(),
                  " needs the inputs, but the output was written in place: ", O(0));
    std::vector<std::string> inputs = {O(0), GO(0)}, outputs;
    for (int k = 0; k < Def().input_size(); ++k) {
      inputs.push_back(I(k));
      outputs.push_back(GI(k));
    }
    return SingleGradientDef(Def().type() + "Gradient", "", inputs, outputs);
  }
};
class GetMeanGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> outputs;
    for (int k = 0; k < Def().input_size(); ++k) outputs.push_back(GI(k));
    return SingleGradientDef("MeanGradient", "", std::vector<std::string>{GO(0)}, outputs);
  }
};

void DescribeVariadic(OpSchema& schema) {
  schema.NumInputs(1, std::numeric_limits<int>::max())
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "data_0", "First of the inputs, all of one type and shape. May be the output.")
      .Output(0, "result", "The result, of the inputs' type and shape.");
}
void DescribeSelectGradient(OpSchema& schema) {
  schema.NumInputs(3, std::numeric_limits<int>::max())
      .NumOutputs(1, std::numeric_limits<int>::max())
      .NumInputsOutputs([](int inputs, int outputs) { return inputs == outputs + 2; })
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "Y", "Output of the forward operator.")
      .Input(1, "dY", "Its gradient; the forward inputs follow.")
      .Output(0, "d_data_0", "Gradient of the first input; the others follow.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Max, VariadicOp<CPUContext, MaxReducer, NumericTypes>);
REGISTER_CPU_OPERATOR(Min, VariadicOp<CPUContext, MinReducer, NumericTypes>);
REGISTER_CPU_OPERATOR(Mean, VariadicOp<CPUContext, MeanFunctor, RealTypes>);
REGISTER_CPU_OPERATOR(MaxGradient, SelectGradientOp<CPUContext>);
REGISTER_CPU_OPERATOR(MinGradient, SelectGradientOp<CPUContext>);
REGISTER_CPU_OPERATOR(MeanGradient, MeanGradientOp<CPUContext>);

OPERATOR_SCHEMA(Max).FillUsing(DescribeVariadic).SetDoc("The element-wise maximum of all inputs.");
OPERATOR_SCHEMA(Min).FillUsing(DescribeVariadic).SetDoc("The element-wise minimum of all inputs.");
OPERATOR_SCHEMA(Mean).FillUsing(DescribeVariadic).SetDoc("The element-wise mean of all inputs.");
OPERATOR_SCHEMA(MaxGradient)
    .FillUsing(DescribeSelectGradient)
    .SetDoc("Gradient of Max: dY goes to every input that equals the maximum.");
OPERATOR_SCHEMA(MinGradient)
    .FillUsing(DescribeSelectGradient)
    .SetDoc("Gradient of Min: dY goes to every input that equals the minimum.");
OPERATOR_SCHEMA(MeanGradient)
    .NumInputs(1)
    .NumOutputs(1, std::numeric_limits<int>::max())
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Gradient of Mean: every input gets dY divided by the number of inputs.")
    .Input(0, "dY", "Gradient of the mean.")
    .Output(0, "d_data_0", "Gradient of the first input; the others follow.");
REGISTER_GRADIENT(Max, GetSelectGradient);
REGISTER_GRADIENT(Min, GetSelectGradient);
REGISTER_GRADIENT(Mean, GetMeanGradient);

}  // namespace caffe2
