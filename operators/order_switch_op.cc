// NCHW2NHWC and NHWC2NCHW; each is the other's gradient.
#include "caffe2/core/operator.h"
#include "operators/conv_pool_shape.h"
#include "operators/matrix_transpose.h"

namespace caffe2 {
namespace {

constexpr StorageOrder Other(StorageOrder order) {
  return order == StorageOrder::kNCHW ? StorageOrder::kNHWC : StorageOrder::kNCHW;
}

// X in the order kFrom -> Y in the other one. Elements of any type that can be copied bytewise.
template <StorageOrder kFrom>
class OrderSwitchOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    CAFFE_ENFORCE(x.has_data() && x.dtype().copy() == nullptr, "cannot reorder ", x.DebugString());
    const ImageShape image = ImageShape::FromDims(x.sizes(), kFrom);
    Tensor* y = Output(0);
    y->Resize(image.ToDims(Other(kFrom)));
    void* to = y->raw_mutable_data(x.dtype());
    const int64_t spatial = image.SpatialSize();
    const bool channels_first = kFrom == StorageOrder::kNCHW;
    TransposeMatrices(image.batch, channels_first ? image.channels : spatial,
                      channels_first ? spatial : image.channels, x.itemsize(), x.raw_data(), to);
    return true;
  }
};

template <StorageOrder kFrom>
std::vector<TensorShape> InferOrderSwitch(const OperatorDef&,
                                          const std::vector<TensorShape>& inputs) {
  if (inputs[0].unknown_shape()) return {UnknownTensorShape()};
  const ImageShape image = ImageShape::FromDims(GetDimsVector(inputs[0]), kFrom);
  return {CreateTensorShape(image.ToDims(Other(kFrom)), inputs[0].data_type())};
}

class GetOrderSwitchGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() == "NCHW2NHWC" ? "NHWC2NCHW" : "NCHW2NHWC", "",
                             std::vector<std::string>{GO(0)}, std::vector<std::string>{GI(0)});
  }
};

using NCHW2NHWC = OrderSwitchOp<StorageOrder::kNCHW>;
using NHWC2NCHW = OrderSwitchOp<StorageOrder::kNHWC>;

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
