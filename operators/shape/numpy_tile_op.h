// NumpyTile: data, repeats (one integer for each axis) -> the data repeated along all axes, as by
// numpy.tile. The host reads the repeats.
#pragma once

#include <vector>

#include "operators/common/copy_elements.h"
#include "operators/shape/tile_op.h"

namespace caffe2 {

template <class Context>
class NumpyTileOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(NumpyTileOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "X of shape ", ShapeString(X.sizes()), " holds no data");
    const std::vector<int64_t> repeats = ReadDimensions(this->template Input<Tensor>(1), "repeats");
    CAFFE_ENFORCE(static_cast<int>(repeats.size()) == X.dim(),
                  "repeats must have one number for each axis of X, which has shape ",
                  ShapeString(X.sizes()), "; found ", repeats.size());
    std::vector<int64_t> dims = X.sizes();
    std::vector<int> repeated;  // axes, from the last: its tiles are the shortest
    for (int axis = X.dim() - 1; axis >= 0; --axis) {
      CAFFE_ENFORCE(repeats[axis] >= 0, "repeats must not be negative, found ", repeats[axis],
                    " for axis ", axis);
      dims[axis] = CheckedNumel({dims[axis], repeats[axis]});
      if (repeats[axis] != 1) repeated.push_back(axis);
    }
    Output(0)->Resize(dims);
    Output(0)->raw_mutable_data(X.dtype());
    if (Output(0)->numel() == 0) return true;
    if (repeated.empty()) {
      CopyElements(X, Output(0), &context_);
      return true;
    }
    const Tensor* from = &X;
    Tensor between[2] = {Tensor(context_.device()), Tensor(context_.device())};
    for (size_t i = 0; i < repeated.size(); ++i) {
      Tensor* to = i + 1 == repeated.size() ? Output(0) : &between[i % 2];
      Repeat(*from, repeated[i], repeats[repeated[i]], to);
      from = to;
    }
    return true;
  }

 private:
  void Repeat(const Tensor& X, int axis, int64_t tiles, Tensor* Y) {
    std::vector<int64_t> dims = X.sizes();
    dims[axis] *= tiles;
    Y->Resize(dims);
    RepeatRuns(X.dtype(), X.size_to_dim(axis), tiles, X.size_from_dim(axis), X.raw_data(),
               Y->raw_mutable_data(X.dtype()), &context_);
  }
};

}  // namespace caffe2
