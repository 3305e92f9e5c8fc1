#include "operators/shape/expand_op.h"

#include <algorithm>

#include "operators/common/sum_to.h"

namespace caffe2 {

template <typename T>
void RepeatElements(const BroadcastPlan& plan, const T* x, T* y, CPUContext* /*context*/) {
  const int64_t stride = plan.a_inner_stride();
  ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t from, int64_t) {
    if (stride == 0) {
      std::fill_n(y + row, n, x[from]);
    } else {
      std::copy_n(x + from, n, y + row);
    }
  });
}

REGISTER_CPU_OPERATOR(Expand, ExpandOp<CPUContext>);
REGISTER_CPU_OPERATOR(ExpandGradient, ExpandGradientOp<CPUContext>);

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
        "Broadcasts X to a shape by the rules of NumPy: shapes are aligned at the end, and a "
        "dimension of 1 (or a missing one) takes the size of the other shape's dimension.")
    .ArgList<int>("shape", "The shape, unless it is an input; 1 and -1 keep a dimension of X.")
    .Input(0, "X", "A tensor of numbers: float, double, float16, bfloat16, int32 or int64.")
    .Input(1, "shape", "Optional: the shape, one-dimensional int32 or int64, in host memory.")
    .Output(0, "Y", "The result.");
OPERATOR_SCHEMA(ExpandGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("The gradient of Expand: sums over the repeated dimensions.")
    .Input(0, "dY", "The gradient of the output, of a floating-point type.")
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
