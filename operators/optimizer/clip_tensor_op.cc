#include "operators/optimizer/clip_tensor_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(ClipTensorByScaling, ClipTensorByScalingOp<CPUContext>);
REGISTER_CPU_OPERATOR(ClipTensorByNorm, ClipTensorByScalingOp<CPUContext>);

namespace {

void ClipSchema(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Arg<float>("threshold", "(> 0) Tensors with a larger norm are scaled.", true)
      .Input(0, "input_tensor", "The tensor, most often a gradient: float, float16 or bfloat16.")
      .Input(1, "val", "Its norm, a float scalar; may be the norm of several tensors together.")
      .Input(2, "additional_threshold", "Optional: a float scalar that multiplies the threshold.")
      .Output(0, "clipped", "The result, shaped like the input; may overwrite it.");
}

}  // namespace

OPERATOR_SCHEMA(ClipTensorByScaling)
    .FillUsing(ClipSchema)
    .SetDoc(
        "Multiplies a tensor by threshold / val if val, its norm, is over the threshold; "
        "copies it otherwise. The norm is not computed here.");
OPERATOR_SCHEMA(ClipTensorByNorm)
    .FillUsing(ClipSchema)
    .SetDoc("Another name of ClipTensorByScaling.");
SHOULD_NOT_DO_GRADIENT(ClipTensorByScaling);
SHOULD_NOT_DO_GRADIENT(ClipTensorByNorm);

}  // namespace caffe2
