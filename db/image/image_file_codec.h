// The codecs of all image files except JPEG are in a separate library: OpenCV's codecs depend on
// over a hundred libraries, and only programs that decode such files should load them.
#pragma once

#include <string>
#include <string_view>

#include "db/image/image_view.h"

namespace caffe2::db {

// The functions behave as DecodeImage and EncodeImage (db/image/image_codec.h). `encode` writes
// JPEG too, for comparison.
struct ImageFileCodec {
  Image<uint8_t> (*decode)(std::string_view bytes, bool color);
  std::string (*encode)(const ImageView<uint8_t>& source, const std::string& extension);
};

// libcaffe2_image loads this library, which is in the same folder, at the first use. The library
// exports one ImageFileCodec named caffe2_image_file_codec.
constexpr char kImageFileCodecLibrary[] = "libcaffe2_image_files.so.0";

}  // namespace caffe2::db
