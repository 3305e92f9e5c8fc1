#include "operators/elementwise/scale_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

ScaleFunction::ScaleFunction(const OperatorBase& op)
    : scale(op.GetSingleArgument<float>("scale", 1.f)) {}

REGISTER_CPU_OPERATOR(Scale, UnaryOp<CPUContext, ScaleFunction, FloatTypes>);

OPERATOR_SCHEMA(Scale)
    .FillUsing(UnarySchema)
    .SetDoc("Y = scale * X.")
    .Arg<float>("scale", "Default 1.");
REGISTER_GRADIENT(Scale, GradientRule<"Scale: GO0 -> GI0">);

}  // namespace caffe2
