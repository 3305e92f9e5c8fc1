// Bucketize: replaces elements by numbers of buckets.
#include "operators/common/host_device_op.h"
#include "operators/sparse/one_hot_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(Bucketize, BucketizeOp<CPUContext>);
OPERATOR_SCHEMA(Bucketize)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), TensorProto::INT32)};
    })
    .SetDoc("The number of boundaries that are less than each element: b[i - 1] < x <= b[i].")
    .ArgList<float>("boundaries", "Numbers in ascending order.", /*required=*/true)
    .Input(0, "X", "A float tensor of any shape.")
    .Output(0, "indices", "int32, of the shape of X.");
NO_GRADIENT(Bucketize);

}  // namespace caffe2
