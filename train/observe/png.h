// PNG files without an image library, which libcaffe2 does not link.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caffe2 {

// A PNG file of `pixels`: rows from the top, 1 (grey) or 3 (RGB) bytes for each pixel. Throws
// EnforceNotMet if the size of `pixels` is not height x width x channels.
std::string EncodePng(const std::vector<uint8_t>& pixels, int height, int width, int channels);

}  // namespace caffe2
