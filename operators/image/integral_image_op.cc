// IntegralImage: sums over all rectangles that begin in a corner (Viola and Jones, 2001).
#include "operators/image/integral_image_op.h"

#include "operators/common/host_device_op.h"

namespace caffe2 {
namespace {

class GetIntegralImageGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("IntegralImageGradient", "", std::vector{I(0), GO(0)},
                             std::vector{GI(0)}, std::vector{MakeArgument<int>("exact", 1)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(IntegralImage, IntegralImageOp<CPUContext>);
REGISTER_CPU_OPERATOR(IntegralImageGradient, IntegralImageGradientOp<CPUContext>);

OPERATOR_SCHEMA(IntegralImage)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(IntegralDims(GetDimsVector(in[0])), in[0].data_type())};
    })
    .SetDoc(
        "Integral images: Y[n, c, i, j] is the sum of X[n, c, h, w] over h < i and w < j, so that "
        "the sum over any rectangle needs four elements.")
    .Input(0, "X", "Float, N x C x H x W.")
    .Output(0, "Y", "Float, N x C x (H + 1) x (W + 1); the first row and column are 0.");
OPERATOR_SCHEMA(IntegralImageGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Gradient of IntegralImage: with exact, which the backward pass of IntegralImage sets, "
        "dX[h, w] is the sum of dY[i, j] over i > h and j > w. Without it, as in nets from Caffe2, "
        "the sum is over i <= h and j <= w, which is not the derivative.")
    .Arg<bool>("exact", "(default false) Whether the sum is the derivative.")
    .Input(0, "X", "Input of the forward operator, for its shape.")
    .Input(1, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of X.");
REGISTER_GRADIENT(IntegralImage, GetIntegralImageGradient);

}  // namespace caffe2
