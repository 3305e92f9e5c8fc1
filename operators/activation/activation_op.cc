#include "operators/activation/activation_op.h"

namespace caffe2 {
namespace {

void GradientSchema(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .AllowInplace({{1, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Input(1, "dY", "The gradient of the output, shaped like it.")
      .Output(0, "dX", "The gradient of the input, shaped like it; may overwrite dY.");
}

}  // namespace

void ActivationSchema(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .IdenticalTypeAndShape()
      .Input(0, "X", "A float or bfloat16 tensor of any shape.")
      .Output(0, "Y", "The result, of the type and shape of X; may overwrite X.");
}

void ActivationGradientSchemaOfOutput(OpSchema& schema) {
  schema.FillUsing(GradientSchema).Input(0, "Y", "The output of the forward operator.");
}

void ActivationGradientSchemaOfInput(OpSchema& schema) {
  schema.FillUsing(GradientSchema).Input(0, "X", "The input of the forward operator.");
}

std::vector<OperatorDef> GetActivationGradientOfOutput::GetGradientDefs() {
  return SingleGradientDef(Def().type() + "Gradient", "", std::vector{O(0), GO(0)},
                           std::vector{GI(0)});
}

std::vector<OperatorDef> GetActivationGradientOfInput::GetGradientDefs() {
  return SingleGradientDef(Def().type() + "Gradient", "", std::vector{I(0), GO(0)},
                           std::vector{GI(0)});
}

}  // namespace caffe2
