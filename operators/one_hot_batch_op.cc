// SegmentOneHot, BatchOneHot, BatchBucketOneHot: one-hot columns of several values.
#include <algorithm>

#include "operators/element_type.h"
#include "operators/indices.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

class SegmentOneHotOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &indices = Input(1), &size = Input(2);
    CAFFE_ENFORCE_EQ(size.numel(), 1, "elements of index_size_tensor");
    const int64_t columns = *size.data<int64_t>();
    CAFFE_ENFORCE_GE(columns, 0, "the number of columns");
    const Segments segments = Segments::FromLengths(Input(0), indices.numel());
    const int64_t* index = indices.data<int64_t>();
    CheckIndices(indices.numel(), index, columns);
    Tensor* Y = Output(0);
    Y->Resize(segments.count(), columns);
    float* y = Y->mutable_data<float>();
    std::fill_n(y, Y->numel(), 0.f);
    for (int64_t s = 0; s < segments.count(); ++s) {
      for (int64_t k = 0; k < segments.length(s); ++k) {
        y[s * columns + index[segments.entry(s, k)]] = 1;
      }
    }
    return true;
  }
};

class BatchOneHotOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &values = Input(2);
    CAFFE_ENFORCE_EQ(X.dim(), 2, "X ", ShapeString(X.sizes()), " must be a matrix");
    const Segments lists = Segments::FromLengths(Input(1), values.numel());
    CAFFE_ENFORCE_EQ(lists.count(), X.size(1), "lengths, for X ", ShapeString(X.sizes()));
    const T *x = X.data<T>(), *value = values.data<T>();
    Tensor* Y = Output(0);
    Y->Resize(X.size(0), values.numel());
    T* y = Y->mutable_data<T>();
    for (int64_t i = 0; i < X.size(0); ++i) {
      for (int64_t j = 0; j < lists.count(); ++j, ++x) {
        for (int64_t k = 0; k < lists.length(j); ++k) {
          *y++ = *x == value[lists.entry(j, k)] ? T(1) : T(0);
        }
      }
    }
    return true;
  }
};

// n boundaries make n + 1 buckets: bucket b holds boundary[b - 1] < x <= boundary[b]. Of the
// buckets that equal boundaries make, the middle one holds their value.
class BatchBucketOneHotOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &boundaries = Input(2);
    CAFFE_ENFORCE_EQ(X.dim(), 2, "X ", ShapeString(X.sizes()), " must be a matrix");
    const Segments lists = Segments::FromLengths(Input(1), boundaries.numel());
    CAFFE_ENFORCE_EQ(lists.count(), X.size(1), "lengths, for X ", ShapeString(X.sizes()));
    const float *x = X.data<float>(), *boundary = boundaries.data<float>();
    Tensor* Y = Output(0);
    Y->Resize(X.size(0), boundaries.numel() + lists.count());
    float* y = Y->mutable_data<float>();
    std::fill_n(y, Y->numel(), 0.f);
    for (int64_t i = 0; i < X.size(0); ++i) {
      for (int64_t j = 0, first = 0; j < lists.count(); ++j, ++x) {
        const float* list = boundary + first;
        const int64_t n = lists.length(j);
        const auto [low, high] = std::equal_range(list, list + n, *x);
        y[((low - list) + (high - list)) / 2] = 1;
        y += n + 1;
        first += n;
      }
    }
    return true;
  }
};

void DescribeBatch(OpSchema& schema) {
  schema.NumInputs(3).NumOutputs(1).Input(1, "lengths",
                                          "int32 or int64: how many of them each column has.");
}

// The number of columns: elements of input 2, and one for each column of X if `bucket`.
template <bool bucket>
std::vector<TensorShape> Infer(const OperatorDef&, const std::vector<TensorShape>& in) {
  if (in[0].dims_size() != 2 || in[2].dims_size() == 0) return {UnknownTensorShape()};
  const int64_t columns = NumelOf(in[2]) + (bucket ? in[0].dims(1) : 0);
  return {CreateTensorShape({in[0].dims(0), columns}, in[0].data_type())};
}

}  // namespace

REGISTER_CPU_OPERATOR(SegmentOneHot, SegmentOneHotOp);
REGISTER_CPU_OPERATOR(BatchOneHot, BatchOneHotOp);
REGISTER_CPU_OPERATOR(BatchBucketOneHot, BatchBucketOneHotOp);
OPERATOR_SCHEMA(SegmentOneHot)
    .NumInputs(3)
    .NumOutputs(1)
    .SetDoc("A row for each segment, 1 in the columns that its entries name and 0 elsewhere.")
    .Input(0, "lengths", "int32 or int64: how many of the indices each segment has.")
    .Input(1, "indices", "int64: columns.")
    .Input(2, "index_size_tensor", "The number of columns: one int64, in host memory.")
    .Output(0, "one_hots", "[segments, columns], float.");
OPERATOR_SCHEMA(BatchOneHot)
    .FillUsing(DescribeBatch)
    .TensorInferenceFunction(Infer<false>)
    .SetDoc("Each column of a matrix becomes one column for each of its values: 1 where it is.")
    .Input(0, "data", "An int32 or int64 matrix.")
    .Input(2, "values", "The values of all columns, one list after another, of the same type.")
    .Output(0, "output", "[rows, number of values], of the same type.");
OPERATOR_SCHEMA(BatchBucketOneHot)
    .FillUsing(DescribeBatch)
    .TensorInferenceFunction(Infer<true>)
    .SetDoc(
        "Each column of a matrix becomes one column for each of its buckets: 1 for the bucket an "
        "element is in. n boundaries make n + 1 buckets; a boundary belongs to the lower one.")
    .Input(0, "data", "A float matrix.")
    .Input(2, "boundaries", "The boundaries of all columns, each list in ascending order.")
    .Output(0, "output", "Float [rows, number of boundaries + columns].");
SHOULD_NOT_DO_GRADIENT(SegmentOneHot);
SHOULD_NOT_DO_GRADIENT(BatchOneHot);
SHOULD_NOT_DO_GRADIENT(BatchBucketOneHot);

}  // namespace caffe2
