// BatchBucketize: replaces elements of some columns by numbers of buckets.
#include "operators/common/host_device_op.h"
#include "operators/sparse/one_hot_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(BatchBucketize, BatchBucketizeOp<CPUContext>);
OPERATOR_SCHEMA(BatchBucketize)
    .NumInputs(4)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() != 2) return std::vector<TensorShape>{UnknownTensorShape()};
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims(0), NumelOf(in[1])}, TensorProto::INT32)};
    })
    .SetDoc("For some columns of a matrix: the number of the column's boundaries below each value.")
    .Input(0, "FEATURE", "A float matrix.")
    .Input(1, "INDICES", "int32 or int64: the columns.")
    .Input(2, "BOUNDARIES", "Float: the boundaries of these columns, sorted within each column.")
    .Input(3, "LENGTHS", "int32 or int64: the number of boundaries of each of these columns.")
    .Output(0, "O", "int32, rows x these columns: from 0 to the number of boundaries.");
SHOULD_NOT_DO_GRADIENT(BatchBucketize);

}  // namespace caffe2
