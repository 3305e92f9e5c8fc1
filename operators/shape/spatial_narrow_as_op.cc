#include "operators/shape/spatial_narrow_as_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

TensorBox NarrowedBox(const std::vector<int64_t>& dims, const std::vector<int64_t>& like) {
  const auto fits = [&] {
    const size_t axes = dims.size();
    if ((axes != 3 && axes != 4) || like.size() < 3 || like.size() > axes) return false;
    if (like[0] != dims[0] || (like.size() == 4 && like[1] != dims[1])) return false;
    return like.rbegin()[0] <= dims.rbegin()[0] && like.rbegin()[1] <= dims.rbegin()[1];
  };
  CAFFE_ENFORCE(
      fits(),
      "B must be N x H x W or N x C x H x W, with A's N and C and no higher or wider than "
      "A: A has shape ",
      ShapeString(dims), ", B ", ShapeString(like));
  TensorBox box{std::vector<int64_t>(dims.size(), 0), dims};
  std::copy(like.end() - 2, like.end(), box.size.end() - 2);
  return box;
}

REGISTER_CPU_OPERATOR(SpatialNarrowAs, SpatialNarrowAsOp<CPUContext>);
REGISTER_CPU_OPERATOR(SpatialNarrowAsGradient, SpatialNarrowAsGradientOp<CPUContext>);
OPERATOR_SCHEMA(SpatialNarrowAs)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(
          NarrowedBox(GetDimsVector(in[0]), GetDimsVector(in[1])).size, in[0].data_type())};
    })
    .SetDoc("The images A without their last rows and columns, as high and wide as the images B.")
    .Input(0, "A", "N x H x W or N x C x H x W, of any type.")
    .Input(1, "B", "N x h x w or N x C x h x w, h <= H and w <= W. Only its shape is used.")
    .Output(0, "C", "N x h x w or N x C x h x w, with as many axes as A.");
OPERATOR_SCHEMA(SpatialNarrowAsGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), in[2].data_type())};
    })
    .SetDoc("The gradient of SpatialNarrowAs for A: dC, and 0 in the rows and columns cut off.")
    .Input(0, "A", "As in the forward operator. Only its shape is used.")
    .Input(1, "B", "As in the forward operator. Only its shape is used.")
    .Input(2, "dC", "The gradient of C.")
    .Output(0, "dA", "The gradient of A.");
REGISTER_GRADIENT(SpatialNarrowAs, GradientRule<"I0 I1 GO0 -> GI0">);

}  // namespace caffe2
