// Expand: repeats dimensions of 1, as NumPy's broadcasting does.
#include "caffe2/core/operator.h"
#include "operators/reduction.h"
#include "operators/shape_input.h"

namespace caffe2 {
namespace {

// X's shape and `wanted` together; -1 in `wanted` stands for what X has there.
std::vector<int64_t> ExpandedShape(const std::vector<int64_t>& x, std::vector<int64_t> wanted) {
  for (int64_t& size : wanted) {
    CAFFE_ENFORCE_GE(size, -1, "shape ", ShapeString(wanted));
    if (size == -1) size = 1;
  }
  return BroadcastRule().OutputShape(x, wanted);
}

class ExpandOp final : public Operator<CPUContext> {
 public:
  ExpandOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), shape_(GetRepeatedArgument<int64_t>("shape")) {}

  bool RunOnDevice() override {
    return TensorTypes<float, double, int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const std::vector<int64_t> shape =
        ExpandedShape(X.sizes(), InputSize() > 1 ? ReadIntegers(Input(1)) : shape_);
    Tensor* Y = Output(0);
    Y->Resize(shape);
    const T* x = X.data<T>();
    T* y = Y->mutable_data<T>();
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), shape);
    const int64_t stride = plan.a_inner_stride();
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t from, int64_t) {
      for (int64_t i = 0; i < n; ++i) y[row + i] = x[from + i * stride];
    });
    return true;
  }

 private:
  std::vector<int64_t> shape_;
};

class ExpandGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1);
    CAFFE_ENFORCE(ExpandedShape(X.sizes(), dY.sizes()) == dY.sizes(), "the gradient's shape ",
                  ShapeString(dY.sizes()), " is no expansion of ", ShapeString(X.sizes()));
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    Reduce<SumReducer>(MakeBroadcastPlan(dY.sizes(), X.sizes()), dY.data<T>(), X.numel(),
                       dX->mutable_data<T>());
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Expand, ExpandOp);
REGISTER_CPU_OPERATOR(ExpandGradient, ExpandGradientOp);

OPERATOR_SCHEMA(Expand)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const ArgumentHelper arguments(def);
      if (in.size() > 1 || !arguments.HasArgument("shape")) {
        return std::vector<TensorShape>{UnknownTensorShape()};
      }
      return std::vector<TensorShape>{CreateTensorShape(
          ExpandedShape(GetDimsVector(in[0]), arguments.GetRepeatedArgument<int64_t>("shape")),
          in[0].data_type())};
    })
    .SetDoc(
        "Repeats X so that it has a shape, by the rules of NumPy: shapes are aligned at the end, "
        "and where one has a dimension of 1 (or none) it takes that of the other.")
    .Arg("shape", "The shape, unless it is an input; 1 and -1 keep a dimension of X.")
    .Input(0, "X", "A tensor of float, double, int32 or int64.")
    .Input(1, "shape", "Optional: the shape, one-dimensional int32 or int64, in host memory.")
    .Output(0, "Y", "The result.");
OPERATOR_SCHEMA(ExpandGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("The gradient of Expand: sums over what was repeated.")
    .Input(0, "dY", "The gradient of the output, float or double.")
    .Input(1, "X", "The input of the forward operator.")
    .Output(0, "dX", "The gradient of the input.");

class GetExpandGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("ExpandGradient", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};
REGISTER_GRADIENT(Expand, GetExpandGradient);

}  // namespace caffe2
