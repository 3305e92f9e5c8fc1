// JPEG files for tests of input operators.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/proto/caffe_datum.pb.h"
#include "tests/db/encode_jpeg.h"

namespace caffe2::testing {

// A picture of slow waves, other ones for each seed.
inline std::string WavesJpeg(int height, int width, int seed, JpegStyle style = {}) {
  style.quality = 95;
  const auto channels = static_cast<size_t>(style.channels);
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    const double down = 55 * std::cos(0.04 * y);
    for (size_t i = 0; i < static_cast<size_t>(width) * channels; ++i) {
      const auto x = static_cast<double>(i / channels), c = static_cast<double>(i % channels);
      pixels.push_back(static_cast<uint8_t>(128 + 55 * std::sin(0.05 * x + 0.3 * c + seed) + down));
    }
  }
  return EncodeJpeg(height, width, pixels, style);
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
