// Shrinks a part of an image by averaging areas.
#pragma once

#include <cstdint>

#include "db/image/image_view.h"

namespace caffe2::db {

// Output pixel i covers the source pixels from begin + i * step to begin + (i + 1) * step, in
// pixels of the source, whose first pixel goes from 0 to 1.
struct AreaAxis {
  double begin = 0, step = 1;
  int count = 0;

  // The first source pixel that is needed, and one more than the last.
  int first() const;
  int end() const;
};

// Each pixel of `output` (rows.count x columns.count x channels, interleaved) is the mean of the
// source pixels that it covers, weighted by the covered area and rounded to the nearest. Equal to
// OpenCV's INTER_AREA where it shrinks, up to one unit. The channels of `source` must be
// interleaved, and steps at least 1. Throws EnforceNotMet if an axis is not inside the source.
void ShrinkByArea(const ImageView<uint8_t>& source, const AreaAxis& rows, const AreaAxis& columns,
                  uint8_t* output);

}  // namespace caffe2::db
