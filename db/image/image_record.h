// One record of an image database as a picture, for programs that look at databases. Training reads
// records with ImageInputDecoder, which does not copy them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "db/image/image_codec.h"

namespace caffe2::db {

struct ImageRecord {
  // "Datum, image file", "Datum, bytes", "Datum, floats", "TensorProtos, bytes", ...
  std::string kind;
  bool has_label = false;
  int64_t label = 0;  // the first number of a label
  // The pixels that ImageInput reads. Those of image files are in blue, green, red order. For
  // records of floats only the height, width and channels are set; there is no data.
  Image<uint8_t> image;
};

// Parses a Datum or a TensorProtos (image, label, ...). Decodes an image file to 3 channels, or to
// 1 if `color` is false; raw pixels keep their channels. Raw pixels of a TensorProtos with three
// dims are rows, columns, channels, or channels, rows, columns if only the first is 1 or 3. Throws
// EnforceNotMet if the record is neither or its sizes do not fit, and as DecodeImage. Thread-safe.
ImageRecord DecodeImageRecord(std::string_view record, bool color = true);

// Scales the shorter side to `scale`, or with `warp` both sides; 0 keeps the image.
Image<uint8_t> Rescale(Image<uint8_t> image, int scale, bool warp);

}  // namespace caffe2::db
