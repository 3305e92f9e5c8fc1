#include "operators/elementwise/sqr_op.h"

#include "operators/elementwise/unary_op.h"

namespace caffe2 {
namespace {

// dX = 2 * (dY * X).
class GetSqrGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(
        I(0) != O(0),
        "the gradient of Sqr needs the input, but the output was written in place: ", O(0));
    return {CreateOperatorDef("Mul", "", {GO(0), I(0)}, {GI(0)}),
            CreateOperatorDef("Scale", "", {GI(0)}, {GI(0)}, {MakeArgument("scale", 2.f)})};
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Sqr, UnaryOp<CPUContext, SqrFunction, NumericTypes>);

OPERATOR_SCHEMA(Sqr)
    .FillUsing(UnarySchema)
    .SetDoc("Y = X^2.")
    .Input(0, "X", "A tensor of numbers, of any shape.");
REGISTER_GRADIENT(Sqr, GetSqrGradient);

}  // namespace caffe2
