#include "db/image/image_limits.h"

#include "caffe2/core/logging.h"

namespace caffe2::db {
namespace {

ImageLimits& Limits() {
  static ImageLimits limits;
  return limits;
}

}  // namespace

const ImageLimits& GetImageLimits() { return Limits(); }

void SetImageLimits(const ImageLimits& limits) {
  CAFFE_ENFORCE(limits.max_pixels > 0 && limits.max_jpeg_bytes > 0 && limits.max_jpeg_scans > 0,
                "limits of images must be positive: ", limits.max_pixels, " pixels, ",
                limits.max_jpeg_bytes, " bytes, ", limits.max_jpeg_scans, " scans");
  Limits() = limits;
}

void CheckImageSize(int64_t height, int64_t width) {
  const int64_t max = Limits().max_pixels;
  CAFFE_ENFORCE(height <= 0 || width <= max / height, "an image of ", height, "x", width,
                " pixels is larger than the limit of ", max, " (--max_image_pixels)");
}

}  // namespace caffe2::db
