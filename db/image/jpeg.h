// JPEG files, by libjpeg-turbo.
#pragma once

#include <string_view>

#include "db/image/image_view.h"

namespace caffe2::db {

// True if the bytes begin like a JPEG file.
bool IsJpeg(std::string_view bytes);

// Decodes a JPEG file to 3 channels (blue, green, red) or 1, the pixels that OpenCV gives; EXIF
// orientation is applied, CMYK is converted. Throws EnforceNotMet, with libjpeg's words, if the
// file is cut short or damaged, inside of the coded data too, as far as the decoder stumbles over
// that. Up to 16 bytes of padding before the end marker, which some encoders leave, are no damage.
Image<uint8_t> DecodeJpeg(std::string_view bytes, bool color);

}  // namespace caffe2::db
