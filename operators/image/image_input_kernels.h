// Kernels of ImageInput.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "db/image/augmentation.h"
#include "db/image/crop_geometry.h"

namespace caffe2 {

// Mirrors, changes colours, normalizes and converts `images` images. All pointers are device
// memory. `pixels` and `output` hold images x params.crop x params.crop x params.channels elements;
// `pixels` is in row, column, channel order. `augmentations` has one element for each image. Pixel
// is uint8_t or float; T is float, float16 or bfloat16.
template <typename Pixel, typename T>
void LaunchNormalizeImages(const db::NormalizeParams& params, int64_t images, const Pixel* pixels,
                           const db::SampledAugmentation* augmentations, T* output,
                           cuda::Stream stream);

// The same for crops of square images that stay on the device: `pixels` is {N, side, side,
// params.channels}, and `crops` has one element for each of the `images` images.
struct ResidentImages {
  const uint8_t* pixels;
  const db::ResidentCrop* crops;
  int side;
};
template <typename T>
void LaunchNormalizeResidentImages(const db::NormalizeParams& params, int64_t images,
                                   const ResidentImages& resident,
                                   const db::SampledAugmentation* augmentations, T* output,
                                   cuda::Stream stream);

// Scales and crops decoded images, with the filter of the host (ImageTransform): it averages areas
// where a part is shrunk, and interpolates as OpenCV's INTER_AREA otherwise. All pointers are
// device memory. `decoded` holds what JpegCrop::first and its strides point into, `crops` has one
// element for each of the `images` images, and `output` is images x crop x crop x channels.
// Channels are 1 or 3, side by side. Does not change the output of images without a file.
void LaunchCropJpegs(int crop, int channels, int64_t images, const uint8_t* decoded,
                     const db::JpegCrop* crops, uint8_t* output, cuda::Stream stream);

}  // namespace caffe2
