// Kernels of ImageInput.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "db/image_change.h"

namespace caffe2 {

// Mirrors, changes colours, normalises and converts `images` images of finish.crop x finish.crop
// pixels in row, column, channel order. `changes` has one element for each. Pixel: uint8_t or
// float; T: float, float16, bfloat16.
template <typename Pixel, typename T>
void LaunchFinishImages(const db::ImageFinish& finish, int64_t images, const Pixel* pixels,
                        const db::ImageChange* changes, T* output, cuda::Stream stream);

}  // namespace caffe2
