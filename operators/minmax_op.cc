// Max, Min and Mean over any number of tensors of one shape.
#include "operators/copy_elements.h"
#include "operators/reduction.h"

namespace caffe2 {
namespace {

using VariadicTypes = TensorTypes<float, int32_t, int64_t, double>;

struct MeanFunctor : SumReducer {
  // What is left to do with the sum of n inputs.
  template <typename T>
  static T Finish(T sum, int n) {
    return sum / static_cast<T>(n);
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
      CAFFE_ENFORCE(Input(k).sizes() == first.sizes(), "inputs of different shapes: input 0 is ",
                    ShapeString(first.sizes()), ", input ", k, " is ",
                    ShapeString(Input(k).sizes()));
      Input(k).template data<T>();  // of the right type, and with data
    }
    Tensor* Y = Output(0);
    CopyTensor(first, Y, &context_);
    T* y = Y->template mutable_data<T>();
    ParallelFor(first.numel(), kElementwiseGrain, [this, y](int64_t begin, int64_t end) {
      for (int k = 1; k < InputSize(); ++k) {
        const T* x = static_cast<const T*>(Input(k).raw_data());
        for (int64_t i = begin; i < end; ++i) y[i] = F::Combine(y[i], x[i]);
      }
      if constexpr (requires { F::Finish(*y, 1); }) {
        for (int64_t i = begin; i < end; ++i) y[i] = F::Finish(y[i], InputSize());
      }
    });
    return true;
  }
};

// Inputs Y, dY, X_0, X_1, ...: dX_k = dY where X_k is the chosen value, 0 elsewhere.
template <class Context>
class SelectGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SelectGradientOp);
  bool RunOnDevice() override { return VariadicTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &Y = Input(0), &dY = Input(1);
    const T *y = Y.data<T>(), *dy = dY.data<T>();
    CAFFE_ENFORCE(Y.sizes() == dY.sizes(), "shapes differ: ", ShapeString(Y.sizes()), " and ",
                  ShapeString(dY.sizes()));
    for (int k = 0; k < OutputSize(); ++k) {
      const Tensor& X = Input(k + 2);
      CAFFE_ENFORCE(X.sizes() == Y.sizes(), "input ", k,
                    " has another shape than the output: ", ShapeString(X.sizes()));
      const T* x = X.data<T>();
      Tensor* dX = Output(k);
      dX->ResizeLike(X);
      T* dx = dX->template mutable_data<T>();
      ParallelFor(X.numel(), kElementwiseGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) dx[i] = x[i] == y[i] ? dy[i] : T(0);
      });
    }
    return true;
  }
};

// dX_k = dY / n.
template <class Context>
class MeanGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MeanGradientOp);
  bool RunOnDevice() override {
    const Tensor& dY = Input(0);
    const float* dy = dY.data<float>();
    const float scale = 1.f / OutputSize();
    // The output that may overwrite dY goes last.
    for (int k = OutputSize() - 1; k >= 0; --k) {
      Tensor* dX = Output(k);
      dX->ResizeLike(dY);
      float* dx = dX->template mutable_data<float>();
      for (int64_t i = 0; i < dY.numel(); ++i) dx[i] = scale * dy[i];
    }
    return true;
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

REGISTER_CPU_OPERATOR(Max, VariadicOp<CPUContext, MaxReducer, VariadicTypes>);
REGISTER_CPU_OPERATOR(Min, VariadicOp<CPUContext, MinReducer, VariadicTypes>);
REGISTER_CPU_OPERATOR(Mean, VariadicOp<CPUContext, MeanFunctor, TensorTypes<float>>);
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
