// ScaleBlobs (several tensors times a number) and Bucketize.
#include "operators/elementwise/scale_blobs_op.h"

#include <climits>

#include "operators/common/portable_op.h"
#include "operators/sparse/one_hot_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(ScaleBlobs, ScaleBlobsOp<CPUContext>);
REGISTER_CPU_OPERATOR(Bucketize, BucketizeOp<CPUContext>);

OPERATOR_SCHEMA(ScaleBlobs)
    .NumInputs(1, INT_MAX)
    .NumOutputs(1, INT_MAX)
    .NumInputsOutputs([](int inputs, int outputs) { return inputs == outputs; })
    .AllowOneToOneInplace()
    .IdenticalTypeAndShape()
    .SetDoc("Multiplies each of several tensors with a number.")
    .Arg("scale", "(float, default 1) The number.")
    .Input(0, "X", "Float tensors of any shapes.")
    .Output(0, "Y", "As many, of the same shapes; may overwrite the inputs.");
OPERATOR_SCHEMA(Bucketize)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), TensorProto::INT32)};
    })
    .SetDoc("The number of boundaries that are less than each element: b[i - 1] < x <= b[i].")
    .Arg("boundaries", "(floats) Rising numbers.", /*required=*/true)
    .Input(0, "X", "A float tensor of any shape.")
    .Output(0, "indices", "int32, of the shape of X.");
SHOULD_NOT_DO_GRADIENT(ScaleBlobs);
NO_GRADIENT(Bucketize);

}  // namespace caffe2
