// The limits of images as command-line flags. This header defines flags, so only the .cc file with
// a program's main includes it.
#pragma once

#include <gflags/gflags.h>

#include "db/image/image_limits.h"

DEFINE_int64(max_image_pixels, 1 << 26, "largest image, in pixels, that is decoded");
DEFINE_int64(max_jpeg_mb, 512, "memory for the decoder of a JPEG image, besides its pixels");
DEFINE_int32(max_jpeg_scans, 32, "scans in a progressive JPEG image");

namespace caffe2 {

inline void SetImageLimitsFromFlags() {
  db::SetImageLimits({FLAGS_max_image_pixels, FLAGS_max_jpeg_mb << 20, FLAGS_max_jpeg_scans});
}

}  // namespace caffe2
