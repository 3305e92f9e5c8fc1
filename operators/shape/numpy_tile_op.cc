// NumpyTile: repeats a tensor along all its axes.
#include "operators/shape/numpy_tile_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(NumpyTile, NumpyTileOp<CPUContext>);
OPERATOR_SCHEMA(NumpyTile)
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("numpy.tile with a number for each axis: [1, 2] twice is [1, 2, 1, 2].")
    .Input(0, "data", "A tensor of any type.")
    .Input(1, "repeats", "int32 or int64: the number of repeats of each axis.")
    .Output(0, "tiled_data", "The repeated tensor; its shape is known at run time only.");
SHOULD_NOT_DO_GRADIENT(NumpyTile);

}  // namespace caffe2
