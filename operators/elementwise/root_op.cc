#include "operators/elementwise/root_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {
namespace {

// dX = 0.5 * (dY / Y).
class GetSqrtGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return {CreateOperatorDef("Div", "", {GO(0), O(0)}, {GI(0)}),
            CreateOperatorDef("Scale", "", {GI(0)}, {GI(0)}, {MakeArgument("scale", 0.5f)})};
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Sqrt, UnaryOp<CPUContext, SqrtFunction, FloatTypes>);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Rsqrt, RsqrtFunction);
REGISTER_CPU_OPERATOR_WITH_GRADIENT(Cbrt, CbrtFunction);

OPERATOR_SCHEMA(Sqrt).FillUsing(UnarySchema).SetDoc("Y = the square root of X.");
OPERATOR_SCHEMA(Rsqrt)
    .FillUsing(UnarySchema)
    .SetDoc("Y = 1 / sqrt(X), element by element; NaN where X is negative.");
OPERATOR_SCHEMA(RsqrtGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Rsqrt: dX = -dY * Y^3 / 2.");
OPERATOR_SCHEMA(Cbrt)
    .FillUsing(UnarySchema)
    .SetDoc("Y = the cube root of X, element by element, with its sign.");
OPERATOR_SCHEMA(CbrtGradient)
    .FillUsing(UnaryGradientSchemaOfOutput)
    .SetDoc("The gradient of Cbrt: dX = dY / (3 Y^2); infinite or NaN where Y is 0.");
REGISTER_GRADIENT(Sqrt, GetSqrtGradient);
REGISTER_GRADIENT(Rsqrt, GradientRule<"O0 GO0 -> GI0">);
REGISTER_GRADIENT(Cbrt, GradientRule<"O0 GO0 -> GI0">);

}  // namespace caffe2
