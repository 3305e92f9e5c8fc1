// The scales of operators that resize images.
#pragma once

#include <cstdint>
#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// The size of the result divided by the size of the input, along each spatial axis.
struct ImageScales {
  float height = 1, width = 1;

  // Reads the arguments height_scale and width_scale or, if `scales` is not null, its two floats.
  static ImageScales Read(const ArgumentHelper& arguments, const Tensor* scales);
  // Documents the arguments.
  static void Describe(OpSchema& schema);
};

// floor(size * scale). Throws EnforceNotMet, naming `name`, unless the scale is positive and finite
// and the result is below 2^31.
int64_t ScaledSize(const char* name, int64_t size, float scale);

// "<Type>Gradient" with inputs dY, X and, if the operator has them as an input, the scales.
class GetScaledImageGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override;
};

}  // namespace caffe2
