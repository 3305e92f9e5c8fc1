// Limits of the images that are decoded: a small file can hold an image that takes minutes and
// gigabytes.
#pragma once

#include <cstdint>

namespace caffe2::db {

struct ImageLimits {
  int64_t max_pixels = int64_t{1} << 26;  // height x width: 8192 x 8192
  // Bytes that libjpeg may take besides the decoded image, mostly for progressive files.
  int64_t max_jpeg_bytes = int64_t{512} << 20;
  int max_jpeg_scans = 32;  // of a progressive file; encoders write about ten
};

// The limits of this process. Set them before the first image is decoded: OpenCV's codecs read
// max_pixels only once. Throws EnforceNotMet unless all are positive.
void SetImageLimits(const ImageLimits& limits);
const ImageLimits& GetImageLimits();

// Throws EnforceNotMet, with both sizes, if the image has too many pixels.
void CheckImageSize(int64_t height, int64_t width);

}  // namespace caffe2::db
