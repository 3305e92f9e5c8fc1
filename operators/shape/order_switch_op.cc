// NCHW2NHWC and NHWC2NCHW; each is the other's gradient.
#include "operators/shape/order_switch_op.h"

#include "operators/shape/matrix_transpose.h"

namespace caffe2 {
static void TransposeMatrices(int64_t batch, int64_t rows, int64_t columns, size_t element_bytes,
                              const void* from, void* to, CPUContext*) {
  TransposeMatrices(batch, rows, columns, element_bytes, from, to);
}

namespace {

template <StorageOrder kFrom>
std::vector<TensorShape> InferOrderSwitch(const OperatorDef&,
                                          const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape()) return {UnknownTensorShape()};
  const ImageShape image = ImageShape::FromDims(GetDimsVector(inputs[0]), kFrom);
  return {CreateTensorShape(image.ToDims(OtherOrder(kFrom)), inputs[0].data_type())};
}

class GetOrderSwitchGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() == "NCHW2NHWC" ? "NHWC2NCHW" : "NCHW2NHWC", "",
                             std::vector<std::string>{GO(0)}, std::vector<std::string>{GI(0)});
  }
};

using NCHW2NHWC = OrderSwitchOp<CPUContext, StorageOrder::kNCHW>;
using NHWC2NCHW = OrderSwitchOp<CPUContext, StorageOrder::kNHWC>;

REGISTER_CPU_OPERATOR(NCHW2NHWC, NCHW2NHWC);
OPERATOR_SCHEMA(NCHW2NHWC)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferOrderSwitch<StorageOrder::kNCHW>)
    .Input(0, "X", "N x C x spatial axes, of any number.")
    .Output(0, "Y", "N x spatial axes x C, of X's type.")
    .SetDoc("Moves the channels of an image from the second axis to the last.");
REGISTER_GRADIENT(NCHW2NHWC, GetOrderSwitchGradient);

REGISTER_CPU_OPERATOR(NHWC2NCHW, NHWC2NCHW);
OPERATOR_SCHEMA(NHWC2NCHW)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferOrderSwitch<StorageOrder::kNHWC>)
    .Input(0, "X", "N x spatial axes x C, any number of spatial axes.")
    .Output(0, "Y", "N x C x spatial axes, of X's type.")
    .SetDoc("Moves the channels of an image from the last axis to the second.");
REGISTER_GRADIENT(NHWC2NCHW, GetOrderSwitchGradient);

}  // namespace
}  // namespace caffe2
