// Writes the normalised bytes of an image.
#pragma once

#include <cstdint>

#include "db/image/image_view.h"

namespace caffe2::db {

// Writes (pixel - mean) / std for each element of an image, which is mirrored left to right if
// asked for, in row, column, channel order or, with channels_first, in channel, row, column order.
// T is float, float16 or bfloat16; the short types are rounded to the nearest. `mean` and `std`
// have width * channels elements: for one row of the output with interleaved channels or, with
// channels_first, for a row of each channel, one after another. Thread-safe.
template <typename T>
void NormalizeImage(const ImageView<uint8_t>& image, bool mirror, bool channels_first,
                    const float* mean, const float* std, T* output);

}  // namespace caffe2::db
