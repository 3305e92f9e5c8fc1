#include "operators/image/scaled_image.h"

#include <cmath>

namespace caffe2 {
namespace {

constexpr double kMaxPixels = 2147483648.;  // of an axis

}  // namespace

ImageScales ImageScales::Read(const ArgumentHelper& arguments, const Tensor* scales) {
  if (scales == nullptr) {
    return {arguments.GetSingleArgument<float>("height_scale", 1.f),
            arguments.GetSingleArgument<float>("width_scale", 1.f)};
  }
  CAFFE_ENFORCE(scales->numel() == 2,
                "scales must hold two numbers, height_scale and width_scale; found shape ",
                ShapeString(scales->sizes()));
  return {scales->data<float>()[0], scales->data<float>()[1]};
}

void ImageScales::Describe(OpSchema& schema) {
  schema.Arg<float>("height_scale", "Rows of Y over rows of X, above 0, default 1.")
      .Arg<float>("width_scale", "Columns of Y over columns of X, above 0, default 1.");
}

int64_t ScaledSize(const char* name, int64_t size, float scale) {
  CAFFE_ENFORCE(scale > 0 && std::isfinite(scale), name, " (", scale,
                ") must be positive and finite");
  const double scaled = static_cast<double>(size) * scale;
  CAFFE_ENFORCE(scaled < kMaxPixels, name, " (", scale, ") is too large for ", size, " pixels");
  return static_cast<int64_t>(scaled);
}

std::vector<OperatorDef> GetScaledImageGradient::GetGradientDefs() {
  std::vector<std::string> inputs{GO(0), I(0)};
  if (Def().input_size() > 1) inputs.push_back(I(1));
  return SingleGradientDef(Def().type() + "Gradient", "", inputs, std::vector{GI(0)});
}

}  // namespace caffe2
