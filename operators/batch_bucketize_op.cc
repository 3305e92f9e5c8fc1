// BatchBucketize: columns of a matrix as numbers of buckets.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/indices.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

class BatchBucketizeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &boundaries = Input(2);
    CAFFE_ENFORCE(X.dim() == 2 && boundaries.dim() == 1, "FEATURE ", ShapeString(X.sizes()),
                  " must be a matrix, BOUNDARIES ", ShapeString(boundaries.sizes()), " a list");
    const std::vector<int64_t> columns = ReadIndices(Input(1), X.size(1));
    const Segments features = Segments::FromLengths(Input(3), boundaries.size(0));
    const auto count = static_cast<int64_t>(columns.size());
    CAFFE_ENFORCE_EQ(features.count(), count, "LENGTHS, one for each of INDICES");
    const float *x = X.data<float>(), *bounds = boundaries.data<float>();
    for (int64_t f = 0; f < count; ++f) {
      const float* first = bounds + features.entry(f, 0);
      CAFFE_ENFORCE(std::is_sorted(first, first + features.length(f)), "the boundaries of feature ",
                    f, " must be sorted");
    }
    Output(0)->Resize(X.size(0), count);
    int32_t* y = Output(0)->mutable_data<int32_t>();
    for (int64_t i = 0; i < X.size(0); ++i, x += X.size(1)) {
      for (int64_t f = 0; f < count; ++f) {
        const float* first = bounds + features.entry(f, 0);
        const float* bound = std::lower_bound(first, first + features.length(f), x[columns[f]]);
        *y++ = static_cast<int32_t>(bound - first);
      }
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(BatchBucketize, BatchBucketizeOp);
OPERATOR_SCHEMA(BatchBucketize)
    .NumInputs(4)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() != 2) return std::vector<TensorShape>{UnknownTensorShape()};
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims(0), NumelOf(in[1])}, TensorProto::INT32)};
    })
    .SetDoc(
        "For some columns of a matrix, how many of the column's boundaries are below each value.")
    .Input(0, "FEATURE", "A float matrix.")
    .Input(1, "INDICES", "int32 or int64: the columns.")
    .Input(2, "BOUNDARIES", "Float: the boundaries of all these columns, sorted for each.")
    .Input(3, "LENGTHS", "int32 or int64: how many boundaries each of these columns has.")
    .Output(0, "O", "int32, rows x columns named: from 0 to the number of boundaries.");
SHOULD_NOT_DO_GRADIENT(BatchBucketize);

}  // namespace caffe2
