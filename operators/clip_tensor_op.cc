#include "operators/clip_tensor_op.h"

namespace caffe2 {

template <>
bool ClipTensorByScalingOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &norm = Input(1);
  CAFFE_ENFORCE_EQ(norm.numel(), 1, "the norm must be a scalar");
  float threshold = threshold_;
  if (InputSize() > 2) {
    CAFFE_ENFORCE_EQ(Input(2).numel(), 1, "the additional threshold must be a scalar");
    threshold *= *Input(2).data<float>();
  }
  const float value = *norm.data<float>();
  const float* x_data = x.data<float>();
  Tensor* y = Output(0);
  if (y != &x) y->ResizeLike(x);
  float* y_data = y->mutable_data<float>();
  if (value > threshold) {
    const float ratio = threshold / value;
    for (int64_t i = 0; i < x.numel(); ++i) y_data[i] = x_data[i] * ratio;
  } else {
    context_.Copy(x.numel(), x_data, y_data);
  }
  return true;
}

REGISTER_CPU_OPERATOR(ClipTensorByScaling, ClipTensorByScalingOp<CPUContext>);
REGISTER_CPU_OPERATOR(ClipTensorByNorm, ClipTensorByScalingOp<CPUContext>);

namespace {

void ClipSchema(OpSchema& schema) {
  schema.NumInputs(2, 3)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Arg("threshold", "(float > 0) The largest norm that is left alone.", true)
      .Input(0, "input_tensor", "The float tensor, most often a gradient.")
      .Input(1, "val", "Its norm, a float scalar; it may be that of several tensors together.")
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
