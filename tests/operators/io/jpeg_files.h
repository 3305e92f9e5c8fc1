// JPEG files for tests, made by libjpeg: OpenCV's encoders are not on every machine that tests run
// on.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// jpeglib.h needs <cstddef> and <cstdio>.
#include <jpeglib.h>

#include "caffe2/proto/caffe_datum.pb.h"

namespace caffe2::testing {

struct JpegStyle {
  int channels = 3;  // 1: gray, 4: inks
  bool progressive = false;
  int orientation = 1;  // EXIF
  std::string comment = {};
};

// The EXIF data of an orientation.
inline std::string ExifOf(int orientation) {
  return std::string("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 24) +
         static_cast<char>(orientation) + std::string(7, '\0');
}

// A picture of slow waves, other ones for each seed.
inline std::string WavesJpeg(int height, int width, int seed, const JpegStyle& style = {}) {
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
  jpeg_set_defaults(&info);  // colours at half of the resolution
  jpeg_set_quality(&info, 95, TRUE);
  if (style.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  const auto mark = [&info](int marker, const std::string& text) {
    jpeg_write_marker(&info, marker, reinterpret_cast<const JOCTET*>(text.data()),
                      static_cast<unsigned>(text.size()));
  };
  if (style.orientation != 1) mark(JPEG_APP0 + 1, ExifOf(style.orientation));
  if (!style.comment.empty()) mark(JPEG_COM, style.comment);
  const size_t n = static_cast<size_t>(width) * style.channels;
  std::vector<double> across(n);
  for (size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(i / style.channels),
               c = static_cast<double>(i % style.channels);
    across[i] = 128 + 55 * std::sin(0.05 * x + 0.3 * c + seed);
  }
  std::vector<uint8_t> row(n);
  while (info.next_scanline < info.image_height) {
    const double down = 55 * std::cos(0.04 * info.next_scanline);
    for (size_t i = 0; i < n; ++i) row[i] = static_cast<uint8_t>(across[i] + down);
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&info, &pointer, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string jpeg(bytes, bytes + size);
  std::free(bytes);
  return jpeg;
}

// A record of a file.
inline std::string FileDatum(const std::string& file, int label) {
  caffe::Datum datum;
  datum.set_data(file);
  datum.set_label(label);
  datum.set_encoded(true);
  return datum.SerializeAsString();
}

}  // namespace caffe2::testing
