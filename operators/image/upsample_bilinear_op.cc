#include "operators/image/upsample_bilinear_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(UpsampleBilinear, UpsampleBilinearOp<CPUContext>);
REGISTER_CPU_OPERATOR(UpsampleBilinearGradient, UpsampleBilinearGradientOp<CPUContext>);

OPERATOR_SCHEMA(UpsampleBilinear)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in.size() > 1) return std::vector<TensorShape>{UnknownTensorShape()};
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      CAFFE_ENFORCE(dims.size() == 4, "X must have four axes, found shape ", ShapeString(dims));
      const ImageScales by = ImageScales::Read(ArgumentHelper(def), nullptr);
      dims[2] = ScaledSize("height_scale", dims[2], by.height);
      dims[3] = ScaledSize("width_scale", dims[3], by.width);
      return std::vector<TensorShape>{CreateTensorShape(dims, in[0].data_type())};
    })
    .FillUsing(ImageScales::Describe)
    .SetDoc(
        "Resizes images by linear interpolation between the four pixels around each place. The "
        "corner pixels of X and Y coincide.")
    .Input(0, "X", "N x C x H x W of float, float16 or bfloat16.")
    .Input(1, "scales", "Optional: height_scale and width_scale, floats, instead of arguments.")
    .Output(0, "Y", "N x C x floor(H * height_scale) x floor(W * width_scale).");
OPERATOR_SCHEMA(UpsampleBilinearGradient)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .FillUsing(ImageScales::Describe)
    .SetDoc("Gradient of UpsampleBilinear.")
    .Input(0, "dY", "Gradient of Y.")
    .Input(1, "X", "The forward operator's input, for its shape.")
    .Input(2, "scales", "Optional: as in the forward operator.")
    .Output(0, "dX", "Gradient of X: a pixel gets its shares of the pixels interpolated from it.");
REGISTER_GRADIENT(UpsampleBilinear, GetScaledImageGradient);

}  // namespace caffe2
