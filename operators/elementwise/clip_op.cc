#include "operators/elementwise/clip_op.h"

#include <limits>

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

ClipFunction::ClipFunction(const OperatorBase& op)
    : low(op.GetSingleArgument<float>("min", std::numeric_limits<float>::lowest())),
      high(op.GetSingleArgument<float>("max", std::numeric_limits<float>::max())) {
  CAFFE_ENFORCE(low <= high, "argument min (", low, ") is larger than argument max (", high, ")");
}

static void DescribeBounds(OpSchema& schema) {
  schema.Arg<float>("min", "(<= max) Lower bound. Default: the lowest float.")
      .Arg<float>("max", "Upper bound. Default: the highest float.");
}

REGISTER_CPU_OPERATOR_WITH_GRADIENT(Clip, ClipFunction, FloatTypes);

OPERATOR_SCHEMA(Clip)
    .FillUsing(UnarySchema)
    .FillUsing(DescribeBounds)
    .SetDoc("Limits every element to [min, max].");
OPERATOR_SCHEMA(ClipGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .FillUsing(DescribeBounds)
    .SetDoc("Gradient of Clip: dX = dY where min < Y < max, 0 elsewhere.");
REGISTER_GRADIENT(Clip, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
