// SumElements, SumElementsInt, SumSqrElements: sums over all elements of a tensor.
#include "operators/reduce/reduction.h"

namespace caffe2 {
namespace {

template <class Context, class R, class Types>
class ElementsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ElementsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        average_(this->template GetSingleArgument<bool>("average", false)) {}

  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const auto sum = ReduceRow<R>(X.numel(), X.data<T>());
    const bool average = average_ && X.numel() > 0;
    Tensor* Y = Output(0);
    Y->Resize();
    using Acc = ArithmeticType<T>;
    *Y->template mutable_data<T>() = Narrow<T>(average ? sum / static_cast<Acc>(X.numel()) : sum);
    return true;
  }

 private:
  bool average_;
};

template <class Context>
class SumElementsGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SumElementsGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        average_(this->template GetSingleArgument<bool>("average", false)) {}

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(1).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &dY = Input(1);
    CAFFE_ENFORCE(dY.numel() == 1, "the gradient of a sum must have one element, found ",
                  dY.numel());
    const auto dy = Widen(*dY.data<T>());
    const bool average = average_ && X.numel() > 0;
    const T value = Narrow<T>(average ? dy / static_cast<ArithmeticType<T>>(X.numel()) : dy);
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    std::fill_n(dX->template mutable_data<T>(), X.numel(), value);
    return true;
  }

 private:
  bool average_;
};

class GetSumElementsGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("SumElementsGradient", "", std::vector<std::string>{I(0), GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

void DescribeElements(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{CreateTensorShape({}, in[0].data_type())};
      })
      .Input(0, "X", "A tensor of any shape.")
      .Output(0, "sum", "A scalar of X's type.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SumElements, ElementsOp<CPUContext, SumReducer, FloatTypes>);
REGISTER_CPU_OPERATOR(SumElementsInt, ElementsOp<CPUContext, SumReducer, IntegerTypes>);
REGISTER_CPU_OPERATOR(SumSqrElements, ElementsOp<CPUContext, SquareSumReducer, FloatTypes>);
REGISTER_CPU_OPERATOR(SumElementsGradient, SumElementsGradientOp<CPUContext>);

OPERATOR_SCHEMA(SumElements)
    .FillUsing(DescribeElements)
    .SetDoc("The sum of all elements of a floating-point tensor, or their mean.")
    .Arg<bool>("average", "1: the mean. Default 0.");
OPERATOR_SCHEMA(SumElementsInt)
    .FillUsing(DescribeElements)
    .SetDoc("The sum of all elements of an int32 or int64 tensor.");
OPERATOR_SCHEMA(SumSqrElements)
    .FillUsing(DescribeElements)
    .SetDoc("The sum of the squares of all elements of a floating-point tensor, or their mean.")
    .Arg<bool>("average", "1: the mean. Default 0.");
OPERATOR_SCHEMA(SumElementsGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Gradient of SumElements: dX = dY everywhere, divided by the number of elements for "
        "the mean.")
    .Arg<bool>("average", "As in SumElements.")
    .Input(0, "X", "Input of SumElements. Only its shape is used.")
    .Input(1, "dY", "Gradient of the sum, one element.")
    .Output(0, "dX", "Gradient of X.");
REGISTER_GRADIENT(SumElements, GetSumElementsGradient);
SHOULD_NOT_DO_GRADIENT(SumElementsInt);
SHOULD_NOT_DO_GRADIENT(SumSqrElements);

}  // namespace caffe2
