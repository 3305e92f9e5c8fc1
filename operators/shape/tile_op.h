// Tile, which repeats a tensor along an axis, and its gradient.
#pragma once

#include <vector>

#include "operators/common/host_device_op.h"
#include "operators/common/shape_input.h"
#include "operators/shape/tile_functions.h"

namespace caffe2 {

// y[o, t, i] = x[o, i] for o < outer, t < tiles, i < run.
template <class Context>
void RepeatRuns(TypeMeta meta, int64_t outer, int64_t tiles, int64_t run, const void* x, void* y,
                Context* context);

// Reads the arguments `tiles` and `axis`, or inputs 1 and 2 instead.
template <class Context>
class TileBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  TileBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        tiles_(this->template GetSingleArgument<int64_t>("tiles", 1)),
        axis_(this->template GetSingleArgument<int>("axis", 0)) {}

 protected:
  void ReadTiles() {
    if (InputSize() > 1) tiles_ = ReadInteger(this->template Input<Tensor>(1), "tiles");
    if (InputSize() > 2)
      axis_ = static_cast<int>(ReadInteger(this->template Input<Tensor>(2), "axis"));
    CAFFE_ENFORCE(tiles_ >= 0, "the number of tiles must not be negative, found ", tiles_);
  }
  int64_t tiles_;
  int axis_;
};

template <class Context>
class TileOp final : public TileBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using TileBase<Context>::TileBase;
  bool RunOnDevice() override {
    this->ReadTiles();
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
    const int axis = X.canonical_axis_index(this->axis_);
    std::vector<int64_t> dims = X.sizes();
    CAFFE_ENFORCE(!__builtin_mul_overflow(dims[axis], this->tiles_, &dims[axis]),
                  "too many tiles: ", this->tiles_);
    Tensor* Y = Output(0);
    Y->Resize(dims);
    void* y = Y->raw_mutable_data(X.dtype());
    if (Y->numel() == 0) return true;  // there may be very many tiles of nothing
    RepeatRuns(X.dtype(), X.size_to_dim(axis), this->tiles_, X.size_from_dim(axis), X.raw_data(), y,
               &context_);
    return true;
  }
};

// dX is the sum of the tiles of dY.
template <class Context>
class TileGradientOp final : public TileBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using TileBase<Context>::TileBase;
  bool RunOnDevice() override { return RealTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    this->ReadTiles();
    const Tensor& dY = Input(0);
    const int axis = dY.canonical_axis_index(this->axis_);
    const int64_t tiles = this->tiles_;
    CAFFE_ENFORCE(tiles > 0 && dY.size(axis) % tiles == 0, "axis ", axis,
                  " of dY must be a multiple of tiles (", tiles, "); dY has shape ",
                  ShapeString(dY.sizes()));
    std::vector<int64_t> dims = dY.sizes();
    dims[axis] /= tiles;
    const T* dy = dY.data<T>();
    Tensor* dX = Output(0);
    dX->Resize(dims);
    ForEach(dX->numel(),
            SumTiles<T>{tiles, dX->size_from_dim(axis), dy, dX->template mutable_data<T>()},
            &context_);
    return true;
  }
};

}  // namespace caffe2
