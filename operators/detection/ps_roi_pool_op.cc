#include "operators/detection/ps_roi_pool_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(PSRoIPool, PSRoIPoolOp<CPUContext>);
REGISTER_CPU_OPERATOR(PSRoIPoolGradient, PSRoIPoolGradientOp<CPUContext>);

namespace {

void PSRoIPoolArguments(OpSchema& schema) {
  schema.Arg<int>("group_size", "(> 0, default 1) Rows and columns of cells.")
      .Arg<int>("output_dim", "(> 0, default 1) Channels of the output.")
      .Arg<float>("spatial_scale", "(> 0, default 1) Pixels of X for one unit of the regions.");
}

}  // namespace

OPERATOR_SCHEMA(PSRoIPool)
    .NumInputs(2)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const ArgumentHelper arguments(def);
      CAFFE_ENFORCE(in[1].dims_size() == 2, "RoIs must have two axes, found shape ",
                    ShapeString(GetDimsVector(in[1])));
      const int groups = arguments.GetSingleArgument<int>("group_size", 1);
      const std::vector<int64_t> dims{
          in[1].dims(0), arguments.GetSingleArgument<int>("output_dim", 1), groups, groups};
      return std::vector<TensorShape>{CreateTensorShape(dims, in[0].data_type()),
                                      CreateTensorShape(dims, TensorProto::INT32)};
    })
    .FillUsing(PSRoIPoolArguments)
    .SetDoc(
        "Divides each region into group_size x group_size cells; channel k of cell (i, j) is the "
        "average of channel (k * group_size + i) * group_size + j of X over the cell (Dai et al., "
        "R-FCN, NIPS 2016). A cell outside the image gives 0.")
    .Input(0, "X", "Float N x (output_dim * group_size^2) x H x W.")
    .Input(1, "RoIs", "Float R x 5: image index, x1, y1, x2, y2 (inclusive) of each region.")
    .Output(0, "Y", "R x output_dim x group_size x group_size.")
    .Output(1, "argmaxes", "int32, shaped like Y: the channel of X of each element.");
OPERATOR_SCHEMA(PSRoIPoolGradient)
    .NumInputs(4)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(PSRoIPoolArguments)
    .SetDoc("The gradient of PSRoIPool for X; the regions get none.")
    .Input(0, "X", "As in the forward operator. Only its shape is used.")
    .Input(1, "RoIs", "As in the forward operator.")
    .Input(2, "argmaxes", "The second output of the forward operator. Not read.")
    .Input(3, "dY", "The gradient of Y.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(PSRoIPool, GradientRule<"I0 I1 O1 GO0 -> GI0">);

}  // namespace caffe2
