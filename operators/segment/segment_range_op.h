// SortedSegmentRange{Sum, Mean, Max, LogSumExp, LogMeanExp}: reductions of runs of rows that have
// the same id. The host reads the ids. host_device_op.h or host_device_cuda.h runs the functors.
#pragma once

#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/host_list.h"
#include "operators/segment/segment_range_functions.h"
#include "operators/segment/segments.h"

namespace caffe2 {

// The offset of each run of rows with one id, and the end of the last run.
inline std::vector<int64_t> RangesOf(const Tensor& X, const Tensor& ids) {
  CAFFE_ENFORCE(X.dim() >= 1, "DATA must have at least one axis, found a scalar");
  Tensor copy(CPU);
  return Segments::FromSortedIds(OnHost(ids, &copy), X.size(0)).Offsets();
}

template <class Context, RangeReducer kReducer>
class SegmentRangeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SegmentRangeOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const std::vector<int64_t> offsets = RangesOf(X, this->template Input<Tensor>(1));
    const float* x = X.data<float>();
    std::vector<int64_t> dims = X.sizes();
    dims[0] = static_cast<int64_t>(offsets.size()) - 1;
    Output(0)->Resize(dims);
    Tensor list(CPU);
    ForEach(Output(0)->numel(),
            RangeReduction<kReducer>{X.size_from_dim(1), ListFor(offsets, &list, &context_), x,
                                     Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }
};

template <class Context, RangeReducer kReducer>
class SegmentRangeGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SegmentRangeGradientOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dY = Input(2);
    const std::vector<int64_t> offsets = RangesOf(X, this->template Input<Tensor>(3));
    const int64_t width = X.size_from_dim(1), count = static_cast<int64_t>(offsets.size()) - 1;
    CAFFE_ENFORCE(Y.numel() == count * width && dY.numel() == Y.numel(),
                  "OUTPUT and its gradient must have ", count * width,
                  " elements: OUTPUT has shape ", ShapeString(Y.sizes()), ", the gradient ",
                  ShapeString(dY.sizes()), ", DATA ", ShapeString(X.sizes()));
    const float *x = X.data<float>(), *y = Y.data<float>(), *dy = dY.data<float>();
    Output(0)->ResizeLike(X);
    Tensor list(CPU);
    ForEachRow(count, count > 0 ? X.numel() / count : 0,
               RangeGradient<kReducer>{width, ListFor(offsets, &list, &context_), x, y, dy,
                                       Output(0)->template mutable_data<float>()},
               &context_);
    return true;
  }
};

}  // namespace caffe2
