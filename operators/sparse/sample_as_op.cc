#include "operators/sparse/sample_as_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(SampleAs, SampleAsOp<CPUContext>);
REGISTER_CPU_OPERATOR(SampleAsGradient, SampleAsGradientOp<CPUContext>);
OPERATOR_SCHEMA(SampleAs)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{UnknownTensorShape()};
    })
    .SetDoc("The rows of X whose label is positive, in their order.")
    .Input(0, "X", "A tensor of any type, of at least one axis.")
    .Input(1, "labels", "int32 or int64, one for each row of X.")
    .Output(0, "Y", "As many rows as there are positive labels; perhaps none.");
OPERATOR_SCHEMA(SampleAsGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of SampleAs: dY in the rows that were taken, 0 in the others.")
    .Input(0, "X", "As in the forward operator. Only its shape is used.")
    .Input(1, "labels", "As in the forward operator.")
    .Input(2, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(SampleAs, GradientRule<"I0 I1 GO0 -> GI0">);

}  // namespace caffe2
