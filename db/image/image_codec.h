// Decoding, resizing and colour conversion (libjpeg-turbo for JPEG, else OpenCV).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/image/image_view.h"

namespace caffe2::db {

// Decodes a JPEG, PNG or other file that OpenCV reads, to 3 channels (blue, green, red) or 1; EXIF
// orientation is applied. Throws EnforceNotMet if the bytes are no image or end before it does,
// and, of JPEG (image_jpeg.h), if damage shows while they are decoded.
Image<uint8_t> DecodeImage(std::string_view bytes, bool color);

// To `height` x `width` > 0, by area when it shrinks.
template <typename Pixel>
Image<Pixel> ResizeImage(const ImageView<Pixel>& source, int height, int width);

// 3 channels to 1 by the weights of ITU-R BT.601, as OpenCV.
template <typename Pixel>
Image<Pixel> ToGray(const ImageView<Pixel>& source);

// An image file of the contents, format by extension (".jpg", ".png"); for the tools and tests.
std::string EncodeImage(const ImageView<uint8_t>& source, const std::string& extension);

}  // namespace caffe2::db
