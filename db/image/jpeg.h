// Decodes JPEG files with libjpeg-turbo.
#pragma once

#include <string_view>

#include "db/image/image_view.h"

namespace caffe2::db {

// True if the bytes begin like a JPEG file.
bool IsJpeg(std::string_view bytes);

// Decodes a JPEG file to 3 channels (blue, green, red) or 1, with the same pixels as OpenCV.
// Applies the EXIF orientation and converts CMYK. Throws EnforceNotMet with libjpeg's message if
// the file is cut short, is damaged where the decoder can tell, or has more than 2^30 pixels. Some
// encoders leave up to 16 bytes of padding before the end marker; that is not an error.
Image<uint8_t> DecodeJpeg(std::string_view bytes, bool color);

}  // namespace caffe2::db
