// What is left to do with the pixels of an image once it is decoded, resized and cropped: plain
// values, so that kernels of devices can read them.
#pragma once

#include <cstdint>

namespace caffe2::db {

// The weights of blue, green and red in the gray value of a pixel (ITU-R BT.601).
inline constexpr float kGrayWeights[3] = {0.114f, 0.587f, 0.299f};

// The random part, for one image.
struct SampledAugmentation {
  enum Kind : int32_t { kSaturation, kBrightness, kContrast };
  // pixel = factor * pixel + (1 - factor) * base, where base is the pixel's gray value for
  // kSaturation, 0 for kBrightness, and for kContrast the mean gray value of the image as it is
  // then. One of each kind, in the order of `blend`.
  struct Blend {
    Kind kind;
    float factor;
  };
  int32_t mirror = 0;
  int32_t num_blends = 0;  // 0 or 3
  Blend blend[3] = {};
  float shift[3] = {};  // added afterwards to blue, green and red, or to what the channels are
};

// The part that all images share: (pixel - mean[c]) / std[c], in the order and type asked for.
struct NormalizeParams {
  int crop = 0;      // height and width
  int channels = 0;  // 1 or 3
  bool channels_first = false;
  bool blends = false;  // whether any image has blends
  float mean[3] = {}, std[3] = {};
};

}  // namespace caffe2::db
