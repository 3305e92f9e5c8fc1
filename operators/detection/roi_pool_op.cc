#include "operators/detection/roi_pool_op.h"

#include <cmath>

#include "operators/common/gradient_rule.h"

namespace caffe2 {

static void ScatterMaxima(const PoolGrid& grid, int64_t count, const PooledRegion* regions,
                          int64_t n, const int* argmax, const float* dy, float* dx,
                          CPUContext* /*context*/) {
  std::fill_n(dx, n, 0.f);
  const int64_t cells = grid.rows * grid.columns, area = grid.height * grid.width;
  for (int64_t r = 0; r < count; ++r) {
    const PooledRegion& region = regions[r];
    float* plane = dx + region.image * grid.channels * area;
    for (int64_t c = 0; c < grid.channels; ++c, plane += area) {
      for (int64_t cell = 0; cell < cells; ++cell, ++argmax, ++dy) {
        CAFFE_ENFORCE(*argmax < area, "an argmax of image ", region.image, " must be less than ",
                      area, ", its number of pixels; found ", *argmax);
        if (*argmax >= 0) plane[*argmax] += *dy;
      }
    }
  }
}

namespace {

void RoIPoolFArguments(OpSchema& schema) {
  schema.ArgOneOf("order", {"NCHW"}, "(default NCHW) The storage order.")
      .Arg<int>("pooled_h", "(> 0, default 1) Rows of cells.")
      .Arg<int>("pooled_w", "(> 0, default 1) Columns of cells.")
      .Arg<float>("spatial_scale", "(> 0, default 1) Pixels of X for one unit of the regions.");
}
void RoIPoolArguments(OpSchema& schema) {
  schema.Arg<int>("is_test", "(default 0) 1: there is no second output.")
      .FillUsing(RoIPoolFArguments);
}

std::vector<TensorShape> InferRoIPool(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const ArgumentHelper arguments(def);
  CAFFE_ENFORCE(in[0].dims_size() == 4 && in[1].dims_size() == 2,
                "X must have four axes and RoIs two: X has shape ",
                ShapeString(GetDimsVector(in[0])), ", RoIs ", ShapeString(GetDimsVector(in[1])));
  const std::vector<int64_t> dims{in[1].dims(0), in[0].dims(1),
                                  arguments.GetSingleArgument<int>("pooled_h", 1),
                                  arguments.GetSingleArgument<int>("pooled_w", 1)};
  std::vector<TensorShape> out{CreateTensorShape(dims, in[0].data_type()),
                               CreateTensorShape(dims, TensorProto::INT32)};
  out.resize(def.output_size());
  return out;
}

void DescribeRoIPool(OpSchema& schema) {
  schema.TensorInferenceFunction(InferRoIPool)
      .Input(0, "X", "A float tensor N x C x H x W.")
      .Input(1, "RoIs", "Float R x 5: image index, x1, y1, x2, y2 (inclusive) of each region.")
      .Output(0, "Y", "R x C x pooled_h x pooled_w.")
      .Output(1, "argmaxes", "int32, shaped like Y: the pixel of each maximum, or -1.");
}
void DescribeRoIPoolGradient(OpSchema& schema) {
  schema.NumInputs(4)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "X", "As in the forward operator. Only its shape is used.")
      .Input(1, "RoIs", "As in the forward operator.")
      .Input(2, "argmaxes", "The second output of the forward operator.")
      .Input(3, "dY", "The gradient of Y.")
      .Output(0, "dX", "The gradient of X.");
}

}  // namespace

REGISTER_CPU_OPERATOR(RoIPool, RoIPoolOp<CPUContext>);
REGISTER_CPU_OPERATOR(RoIPoolGradient, RoIPoolGradientOp<CPUContext>);

OPERATOR_SCHEMA(RoIPool)
    .NumInputs(2)
    .NumOutputs(1, 2)
    .FillUsing(RoIPoolArguments)
    .FillUsing(DescribeRoIPool)
    .SetDoc(
        "Divides each region into pooled_h x pooled_w cells and takes the maximum of each "
        "channel in each cell (Girshick, ICCV 2015). Cells share the pixels on their edges; a cell "
        "outside the image gives 0. Corners are scaled and rounded to whole pixels.");
OPERATOR_SCHEMA(RoIPoolGradient)
    .FillUsing(RoIPoolArguments)
    .FillUsing(DescribeRoIPoolGradient)
    .SetDoc("The gradient of RoIPool for X; the regions get none.");
REGISTER_GRADIENT(RoIPool, GradientRule<"I0 I1 O1 GO0 -> GI0">);

REGISTER_CPU_OPERATOR(RoIPoolF, RoIPoolOp<CPUContext>);
REGISTER_CPU_OPERATOR(RoIPoolFGradient, RoIPoolGradientOp<CPUContext>);
OPERATOR_SCHEMA(RoIPoolF)
    .NumInputs(2)
    .NumOutputs(2)
    .FillUsing(RoIPoolFArguments)
    .FillUsing(DescribeRoIPool)
    .SetDoc("RoIPool under the name that Detectron uses; it always has both outputs.");
OPERATOR_SCHEMA(RoIPoolFGradient)
    .FillUsing(RoIPoolFArguments)
    .FillUsing(DescribeRoIPoolGradient)
    .SetDoc("The gradient of RoIPoolF for X; the regions get none.");
REGISTER_GRADIENT(RoIPoolF, GradientRule<"I0 I1 O1 GO0 -> GI0">);

}  // namespace caffe2
