// SegmentOneHot, BatchOneHot, BatchBucketOneHot: one-hot columns for several values.
#include "operators/common/host_device_op.h"
#include "operators/sparse/one_hot_op.h"

namespace caffe2 {
namespace {

void DescribeBatch(OpSchema& schema) {
  schema.NumInputs(3).NumOutputs(1).Input(1, "lengths",
                                          "int32 or int64: the number of them for each column.");
}

// The number of columns: elements of input 2, and one for each column of X if `bucket`.
template <bool bucket>
std::vector<TensorShape> Infer(const OperatorDef&, const std::vector<TensorShape>& in) {
  if (in[0].dims_size() != 2 || in[2].dims_size() == 0) return {UnknownTensorShape()};
  const int64_t columns = NumelOf(in[2]) + (bucket ? in[0].dims(1) : 0);
  return {CreateTensorShape({in[0].dims(0), columns}, in[0].data_type())};
}

}  // namespace

REGISTER_CPU_OPERATOR(SegmentOneHot, SegmentOneHotOp<CPUContext>);
REGISTER_CPU_OPERATOR(BatchOneHot, BatchOneHotOp<CPUContext>);
REGISTER_CPU_OPERATOR(BatchBucketOneHot, BatchBucketOneHotOp<CPUContext>);
OPERATOR_SCHEMA(SegmentOneHot)
    .NumInputs(3)
    .NumOutputs(1)
    .SetDoc("A row for each segment, 1 in the columns that its entries name and 0 elsewhere.")
    .Input(0, "lengths", "int32 or int64: the number of indices of each segment.")
    .Input(1, "indices", "int64: columns.")
    .Input(2, "index_size_tensor", "The number of columns: one int64, in host memory.")
    .Output(0, "one_hots", "[segments, columns], float.");
OPERATOR_SCHEMA(BatchOneHot)
    .FillUsing(DescribeBatch)
    .TensorInferenceFunction(Infer<false>)
    .SetDoc(
        "Each column of a matrix becomes one column for each of its values: 1 where the element "
        "equals the value, else 0.")
    .Input(0, "data", "An int32 or int64 matrix.")
    .Input(2, "values", "The values of all columns, one list after another, of the same type.")
    .Output(0, "output", "[rows, number of values], of the same type.");
OPERATOR_SCHEMA(BatchBucketOneHot)
    .FillUsing(DescribeBatch)
    .TensorInferenceFunction(Infer<true>)
    .SetDoc(
        "Each column of a matrix becomes one column for each of its buckets: 1 if the element is "
        "in the bucket, else 0. n boundaries make n + 1 buckets; a boundary belongs to the lower "
        "one.")
    .Input(0, "data", "A float matrix.")
    .Input(2, "boundaries", "The boundaries of all columns, each list in ascending order.")
    .Output(0, "output", "Float [rows, number of boundaries + columns].");
SHOULD_NOT_DO_GRADIENT(SegmentOneHot);
SHOULD_NOT_DO_GRADIENT(BatchOneHot);
SHOULD_NOT_DO_GRADIENT(BatchBucketOneHot);

}  // namespace caffe2
