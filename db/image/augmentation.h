// The steps after an image is decoded, resized and cropped: mirroring, colour augmentation and
// normalisation. These are plain structs, so that device kernels can read them.
#pragma once

#include <cstdint>

namespace caffe2::db {

// The weights of blue, green and red in the gray value of a pixel (ITU-R BT.601).
inline constexpr float kGrayWeights[3] = {0.114f, 0.587f, 0.299f};

// The random choices for one image.
struct SampledAugmentation {
  enum Kind : int32_t { kSaturation, kBrightness, kContrast };
  // pixel = factor * pixel + (1 - factor) * base. The base is the pixel's gray value for
  // kSaturation, 0 for kBrightness, and for kContrast the mean gray value of the image after the
  // earlier blends.
  struct Blend {
    Kind kind;
    float factor;
  };
  int32_t mirror = 0;
  int32_t num_blends = 0;  // 0, or 3: one of each kind
  Blend blend[3] = {};     // applied in this order
  float shift[3] = {};     // added to channels 0, 1 and 2 (blue, green, red) after the blends
  // The box of the mirrored crop that is 0 after the normalisation; a height of 0: none.
  int32_t erased_y = 0, erased_x = 0, erased_height = 0, erased_width = 0;
};

// The crop of one image. A device keeps the whole image in its memory.
struct ResidentCrop {
  int64_t image = 0;     // the record of the database
  int32_t y = 0, x = 0;  // where the crop begins; pixels outside of the image are black
};

// The normalisation, the same for all images: (pixel - mean[c]) / std[c].
struct NormalizeParams {
  int crop = 0;      // height and width
  int channels = 0;  // 1 or 3
  bool channels_first = false;
  bool blends = false;  // whether any image has blends
  float mean[3] = {}, std[3] = {};
};

}  // namespace caffe2::db
