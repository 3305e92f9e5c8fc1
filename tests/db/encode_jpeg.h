// Makes JPEG files for tests with libjpeg: OpenCV's encoders are not on every machine that tests
// run on, and make no progressive files and none of four inks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// jpeglib.h needs <cstddef> and <cstdio>.
#include <jpeglib.h>

namespace caffe2::testing {

struct JpegStyle {
  int channels = 3;  // 1: gray, 4: inks
  bool progressive = false;
  int orientation = 1;  // EXIF
  std::string comment = {};
  int quality = 75;
};

// The EXIF data of an orientation.
inline std::string ExifOf(int orientation) {
  return std::string("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 24) +
         static_cast<char>(orientation) + std::string(7, '\0');
}

// `pixels` are height x width x channels. Colours have half of the resolution.
inline std::string EncodeJpeg(int height, int width, std::vector<uint8_t> pixels,
                              const JpegStyle& style = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = style.channels;
  info.in_color_space = style.channels == 1   ? JCS_GRAYSCALE
                        : style.channels == 3 ? JCS_RGB
                                              : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, style.quality, TRUE);
  if (style.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  const auto mark = [&info](int marker, const std::string& text) {
    jpeg_write_marker(&info, marker, reinterpret_cast<const JOCTET*>(text.data()),
                      static_cast<unsigned>(text.size()));
  };
  if (style.orientation != 1) mark(JPEG_APP0 + 1, ExifOf(style.orientation));
  if (!style.comment.empty()) mark(JPEG_COM, style.comment);
  const size_t row_bytes = static_cast<size_t>(width) * static_cast<size_t>(style.channels);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = pixels.data() + info.next_scanline * row_bytes;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string jpeg(bytes, bytes + size);
  std::free(bytes);
  return jpeg;
}

}  // namespace caffe2::testing
