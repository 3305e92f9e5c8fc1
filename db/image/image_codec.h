// Decodes, resizes and converts images (libjpeg-turbo for JPEG, otherwise OpenCV). All functions
// are thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/image/image_source.h"

namespace caffe2::db {

// Decodes a JPEG, PNG, WebP, BMP, TIFF or PNM file to 3 channels (blue, green, red) or 1. Applies
// the EXIF orientation. Throws EnforceNotMet if the bytes are not such a file or are cut short, for
// a damaged JPEG (jpeg.h), and for one that exceeds GetImageLimits(); IoError if the library of
// codecs (image_file_codec.h) is missing.
Image<uint8_t> DecodeImage(std::string_view bytes, bool color);

// Why this installation reads and writes only JPEG files: the library of codecs is missing or
// cannot be loaded. "" if it is there.
std::string OtherFormatsProblem();

// Opens the image to read it in parts. The bytes must outlive the source. Both this function and
// reading a part throw as DecodeImage. Files other than JPEG are decoded at once.
std::unique_ptr<ImageSource<uint8_t>> OpenImage(std::string_view bytes, bool color);

// Resizes to `height` x `width` > 0 by OpenCV's INTER_AREA: it averages areas where it shrinks.
template <typename Pixel>
Image<Pixel> ResizeImage(const ImageView<Pixel>& source, int height, int width);

// Converts 3 channels to 1 with the weights of ITU-R BT.601, as OpenCV does.
template <typename Pixel>
Image<Pixel> ToGray(const ImageView<Pixel>& source);

// Encodes an image file; the extension (".jpg", ".png") gives the format. For tools and tests.
// Throws IoError if the format is not JPEG and the library of codecs is missing.
std::string EncodeImage(const ImageView<uint8_t>& source, const std::string& extension);

}  // namespace caffe2::db
