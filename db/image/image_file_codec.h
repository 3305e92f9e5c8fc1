// The formats of image files but JPEG, in a library of its own: OpenCV's codecs pull in over a
// hundred libraries, which only programs that decode image files shall need.
#pragma once

#include <string>
#include <string_view>

#include "db/image/image_view.h"

namespace caffe2::db {

// As DecodeImage and EncodeImage (db/image/image_codec.h). It encodes JPEG too.
struct ImageFileCodec {
  Image<uint8_t> (*decode)(std::string_view bytes, bool color);
  std::string (*encode)(const ImageView<uint8_t>& source, const std::string& extension);
};

// The library, which libcaffe2_image loads from beside it when it is first needed. It exports one
// ImageFileCodec by the name caffe2_image_file_codec.
constexpr char kImageFileCodecLibrary[] = "libcaffe2_image_files.so.0";

}  // namespace caffe2::db
