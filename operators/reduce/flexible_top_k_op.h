// FlexibleTopK: the k largest elements of each row, where each row has its own k. The host reads k.
#pragma once

#include "caffe2/core/device_backend.h"
#include "operators/common/copy_elements.h"
#include "operators/common/host_list.h"
#include "operators/common/indices.h"
#include "operators/reduce/selection_functions.h"
#include "operators/segment/segments.h"

namespace caffe2 {

// Reads the k of each row of X. Throws EnforceNotMet unless each is from 1 to the length of a row.
inline Segments ReadCounts(const Tensor& X, const Tensor& k) {
  CAFFE_ENFORCE(X.dim() >= 1, "X must have at least one axis, found a scalar");
  Tensor copy(CPU);
  Segments counts = Segments::FromLengths(OnHost(k, &copy));
  CAFFE_ENFORCE(counts.count() == X.size_to_dim(X.dim() - 1),
                "k must have one element for each row of X, which has shape ",
                ShapeString(X.sizes()), "; found ", counts.count());
  for (int64_t r = 0; r < counts.count(); ++r) {
    CAFFE_ENFORCE(counts.length(r) > 0 && counts.length(r) <= X.size(X.dim() - 1), "k of row ", r,
                  " must be from 1 to the last dimension of X, which has shape ",
                  ShapeString(X.sizes()), "; found ", counts.length(r));
  }
  return counts;
}

// Writes the largest counts.length(r) elements of each row r of x, row by row. The last argument
// chooses the overload for the device.
void TakeLargest(const Segments& counts, int64_t width, const float* x, float* values,
                 int64_t* indices, CPUContext* context);

// Inputs X, k.
template <class Context>
class FlexibleTopKOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(FlexibleTopKOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const Segments counts = ReadCounts(X, this->template Input<Tensor>(1));
    const float* x = X.data<float>();
    Output(0)->Resize(counts.size());
    Output(1)->Resize(counts.size());
    TakeLargest(counts, X.size(X.dim() - 1), x, Output(0)->template mutable_data<float>(),
                Output(1)->template mutable_data<int64_t>(), &context_);
    return true;
  }
};

// Inputs X, k, dValues, Indices.
template <class Context>
class FlexibleTopKGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(FlexibleTopKGradientOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &d_values = Input(2), &indices = Input(3);
    const Segments counts = ReadCounts(X, this->template Input<Tensor>(1));
    const int64_t width = X.size(X.dim() - 1);
    CAFFE_ENFORCE(d_values.numel() == counts.size() && indices.numel() == counts.size(),
                  "the gradient and the indices must have ", counts.size(),
                  " elements: the gradient has shape ", ShapeString(d_values.sizes()),
                  ", the indices ", ShapeString(indices.sizes()));
    const float* dy = d_values.data<float>();
    const int64_t* index = indices.data<int64_t>();
    Tensor copy(CPU), list(CPU);
    CheckIndices(indices.numel(), OnHost(indices, &copy).template data<int64_t>(), width);
    Output(0)->ResizeLike(X);
    float* dx = Output(0)->template mutable_data<float>();
    ClearBytes(Output(0)->nbytes(), dx, &context_);
    const int64_t rows = counts.count();
    ForEachRow(
        rows, rows == 0 ? 0 : counts.size() / rows,
        ScatterFlexibleTopK{width, ListFor(counts.Offsets(), &list, &context_), dy, index, dx},
        &context_);
    return true;
  }
};

}  // namespace caffe2
