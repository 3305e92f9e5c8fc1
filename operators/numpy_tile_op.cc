// NumpyTile: a tensor repeated along all its axes.
#include <cstring>

#include "caffe2/core/operator.h"
#include "operators/indices.h"
#include "operators/row_copier.h"

namespace caffe2 {
namespace {

class NumpyTileOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "X holds no data");
    const std::vector<int64_t> repeats = ReadIntegers(Input(1), "repeats");
    CAFFE_ENFORCE_EQ(static_cast<int>(repeats.size()), X.dim(), "repeats, one for each axis of X ",
                     ShapeString(X.sizes()));
    std::vector<int64_t> dims = X.sizes();
    for (int axis = 0; axis < X.dim(); ++axis) {
      CAFFE_ENFORCE_GE(repeats[axis], 0, "repeats of axis ", axis);
      dims[axis] = CheckedNumel({dims[axis], repeats[axis]});
    }
    Output(0)->Resize(dims);
    const TypeMeta meta = X.dtype();
    char* y = static_cast<char*>(Output(0)->raw_mutable_data(meta));
    if (Output(0)->numel() == 0) return true;
    Tile(X, repeats, 0, static_cast<const char*>(X.raw_data()), y);
    return true;
  }

 private:
  // Writes the tiles of a part of X, the one from `axis` on, and returns the end of what it wrote.
  char* Tile(const Tensor& X, const std::vector<int64_t>& repeats, int axis, const char* x,
             char* y) const {
    const TypeMeta meta = X.dtype();
    if (axis == X.dim()) {
      CopyItems(meta, 1, x, y);
      return y + meta.itemsize();
    }
    const char* const begin = y;
    const auto part = X.size_from_dim(axis + 1) * static_cast<int64_t>(meta.itemsize());
    for (int64_t i = 0; i < X.size(axis); ++i) y = Tile(X, repeats, axis + 1, x + i * part, y);
    const int64_t bytes = y - begin, items = bytes / static_cast<int64_t>(meta.itemsize());
    for (int64_t k = 1; k < repeats[axis]; ++k, y += bytes) CopyItems(meta, items, begin, y);
    return y;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(NumpyTile, NumpyTileOp);
OPERATOR_SCHEMA(NumpyTile)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("numpy.tile with as many repeats as there are axes: [1, 2] twice is [1, 2, 1, 2].")
    .Input(0, "data", "A tensor of any type.")
    .Input(1, "repeats", "int32 or int64, one for each axis: how often it is repeated.")
    .Output(0, "tiled_data", "The repeated tensor; its shape is known at run time only.");
SHOULD_NOT_DO_GRADIENT(NumpyTile);

}  // namespace caffe2
