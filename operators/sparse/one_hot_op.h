// OneHot, SegmentOneHot, BatchOneHot, BatchBucketOneHot, Bucketize and BatchBucketize. The host
// reads lengths and sizes. host_device_op.h or host_device_cuda.h runs the functors.
#pragma once

#include <algorithm>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/checked_indices.h"
#include "operators/common/copy_elements.h"
#include "operators/common/host_list.h"
#include "operators/common/indices.h"
#include "operators/common/shape_input.h"
#include "operators/segment/segments.h"
#include "operators/sparse/one_hot_functions.h"

namespace caffe2 {

// The number of columns in a tensor of one int64.
inline int64_t ReadColumns(const Tensor& size) {
  const int64_t columns = ReadInteger(size, "index_size_tensor");
  CAFFE_ENFORCE(columns >= 0,
                "index_size_tensor, the number of columns, must not be negative, found ", columns);
  return columns;
}

// Writes rows of zeros with a one for each index. An overload for the context does the work.
void MarkIndices(const OneHotElements& rows, int64_t n, CPUContext* context);

template <class Context>
class OneHotOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(OneHotOp);
  bool RunOnDevice() override {
    const Tensor& indices = Input(0);
    CAFFE_ENFORCE(indices.dim() == 1, "indices must be one-dimensional, found shape ",
                  ShapeString(indices.sizes()));
    const int64_t n = indices.numel(), classes = ReadColumns(this->template Input<Tensor>(1));
    const int64_t* index = indices.data<int64_t>();
    CheckedIndices(indices, classes, &context_);
    Output(0)->Resize(n, classes);
    MarkIndices(OneHotElements{classes, index, Output(0)->template mutable_data<float>()}, n,
                &context_);
    return true;
  }
};

template <class Context>
class SegmentOneHotOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SegmentOneHotOp);
  bool RunOnDevice() override {
    const Tensor& indices = Input(1);
    const int64_t columns = ReadColumns(this->template Input<Tensor>(2));
    Tensor copy(CPU), list(CPU);
    const Segments segments =
        Segments::FromLengths(OnHost(this->template Input<Tensor>(0), &copy), indices.numel());
    const int64_t* index = indices.data<int64_t>();
    CheckedIndices(indices, columns, &context_);
    Tensor* Y = Output(0);
    Y->Resize(segments.count(), columns);
    auto* y = Y->template mutable_data<float>();
    ClearBytes(Y->nbytes(), y, &context_);
    ForEach(segments.count(),
            SegmentOneHotRows{ListFor(segments.Offsets(), &list, &context_), columns, index, y},
            &context_);
    return true;
  }
};

// The lists of values, or boundaries, of the columns of a matrix X.
template <class Context>
class BatchOneHotBase : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BatchOneHotBase);

 protected:
  Segments ReadLists(const Tensor& X, int64_t values) const {
    CAFFE_ENFORCE(X.dim() == 2, "X must be a matrix, found shape ", ShapeString(X.sizes()));
    Tensor copy(CPU);
    Segments lists = Segments::FromLengths(OnHost(this->template Input<Tensor>(1), &copy), values);
    CAFFE_ENFORCE(lists.count() == X.size(1),
                  "there must be one length for each column of X, which has shape ",
                  ShapeString(X.sizes()), "; found ", lists.count());
    return lists;
  }
};

template <class Context>
class BatchOneHotOp final : public BatchOneHotBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using BatchOneHotBase<Context>::BatchOneHotBase;
  bool RunOnDevice() override {
    return TensorTypes<int32_t, int64_t>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &values = Input(2);
    const Segments lists = this->ReadLists(X, values.numel());
    std::vector<int64_t> column;
    for (int64_t j = 0; j < lists.count(); ++j) column.insert(column.end(), lists.length(j), j);
    Tensor list(CPU);
    Output(0)->Resize(X.size(0), values.numel());
    ForEach(Output(0)->numel(),
            BatchOneHotElements<T>{X.size(1), values.numel(), ListFor(column, &list, &context_),
                                   X.template data<T>(), values.template data<T>(),
                                   Output(0)->template mutable_data<T>()},
            &context_);
    return true;
  }
};

template <class Context>
class BatchBucketOneHotOp final : public BatchOneHotBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using BatchOneHotBase<Context>::BatchOneHotBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &boundaries = Input(2);
    const Segments lists = this->ReadLists(X, boundaries.numel());
    const int64_t width = boundaries.numel() + lists.count();
    Tensor list(CPU);
    Output(0)->Resize(X.size(0), width);
    ForEach(X.numel(),
            BucketOneHotElements{X.size(1), width, ListFor(lists.Offsets(), &list, &context_),
                                 boundaries.data<float>(), X.data<float>(),
                                 Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }
};

template <class Context>
class BucketizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BucketizeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        boundaries_(this->template GetRepeatedArgument<float>("boundaries")) {
    CAFFE_ENFORCE(!boundaries_.empty(), "the argument boundaries is missing");
    CAFFE_ENFORCE(std::is_sorted(boundaries_.begin(), boundaries_.end()),
                  "the boundaries must be in ascending order");
  }
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const float* x = X.data<float>();
    Output(0)->ResizeLike(X);
    Tensor list(CPU);
    ForEach(X.numel(),
            BucketElements{static_cast<int64_t>(boundaries_.size()),
                           ListFor(boundaries_, &list, &context_), x,
                           Output(0)->template mutable_data<int32_t>()},
            &context_);
    return true;
  }

 private:
  std::vector<float> boundaries_;
};

// Inputs FEATURE, INDICES, BOUNDARIES, LENGTHS. The host reads all but the first.
template <class Context>
class BatchBucketizeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(BatchBucketizeOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor copies[3] = {Tensor(CPU), Tensor(CPU), Tensor(CPU)};
    const auto host = [&](int i) -> const Tensor& {
      return OnHost(this->template Input<Tensor>(i), &copies[i - 1]);
    };
    const Tensor& boundaries = host(2);
    CAFFE_ENFORCE(X.dim() == 2 && boundaries.dim() == 1,
                  "FEATURE must be a matrix and BOUNDARIES one-dimensional: FEATURE has shape ",
                  ShapeString(X.sizes()), ", BOUNDARIES ", ShapeString(boundaries.sizes()));
    const std::vector<int64_t> columns = ReadIndices(host(1), X.size(1));
    const Segments features = Segments::FromLengths(host(3), boundaries.numel());
    const auto count = static_cast<int64_t>(columns.size());
    CAFFE_ENFORCE(features.count() == count, "LENGTHS must have one length for each of the ", count,
                  " INDICES, found ", features.count());
    const std::vector<float> bounds(boundaries.template data<float>(),
                                    boundaries.template data<float>() + boundaries.numel());
    for (int64_t f = 0; f < count; ++f) {
      const auto first = bounds.begin() + features.Offsets()[f];
      CAFFE_ENFORCE(std::is_sorted(first, first + features.length(f)), "the boundaries of feature ",
                    f, " must be sorted");
    }
    const float* x = X.data<float>();
    Tensor lists[3] = {Tensor(CPU), Tensor(CPU), Tensor(CPU)};
    Output(0)->Resize(X.size(0), count);
    ForEach(Output(0)->numel(),
            BatchBucketElements{X.size(1), count, ListFor(columns, &lists[0], &context_),
                                ListFor(features.Offsets(), &lists[1], &context_),
                                ListFor(bounds, &lists[2], &context_), x,
                                Output(0)->template mutable_data<int32_t>()},
            &context_);
    return true;
  }
};

}  // namespace caffe2
