#include "operators/elementwise/scale_blobs_op.h"

#include "operators/common/host_device_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(ScaleBlobs, ScaleBlobsOp<CPUContext>);

OPERATOR_SCHEMA(ScaleBlobs)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .NumInputsOutputs([](int inputs, int outputs) { return inputs == outputs; })
    .AllowOneToOneInplace()
    .IdenticalTypeAndShape()
    .SetDoc("Multiplies each of several tensors with a number.")
    .Arg<float>("scale", "(default 1) The number.")
    .Input(0, "X", "Float tensors of any shapes.")
    .Output(0, "Y", "As many, of the same shapes; may overwrite the inputs.");
SHOULD_NOT_DO_GRADIENT(ScaleBlobs);

}  // namespace caffe2
