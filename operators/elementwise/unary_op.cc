#include "operators/elementwise/unary_op.h"

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

void CheckSameSizes(const OperatorBase& op) {
  CAFFE_ENFORCE_LE(op.InputSize(), 3);
  const auto& first = op.Input<Tensor>(0);
  for (int i = 1; i < op.InputSize(); ++i) {
    const auto& input = op.Input<Tensor>(i);
    CAFFE_ENFORCE(input.numel() == first.numel(), "input ", i,
                  " must have as many elements as input 0: input ", i, " has shape ",
                  ShapeString(input.sizes()), ", input 0 ", ShapeString(first.sizes()));
  }
}

void UnarySchema(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .IdenticalTypeAndShape()
      .Input(0, "X", "A floating-point tensor of any shape.")
      .Output(0, "Y", "The result, of the type and shape of X; may overwrite X.");
}

void UnaryGradientSchemaOfOutput(OpSchema& schema) {
  schema.FillUsing(GradientSchema).Input(0, "Y", "The output of the forward operator.");
}

void UnaryGradientSchemaOfInput(OpSchema& schema) {
  schema.FillUsing(GradientSchema).Input(0, "X", "The input of the forward operator.");
}

}  // namespace caffe2
