#include "train/observe/png.h"

#include <gtest/gtest.h>

#include "caffe2/core/logging.h"
#include "db/image/image_codec.h"

namespace caffe2 {
namespace {

// OpenCV's decoder is the reference. It gives blue, green, red.
TEST(PngTest, AnImageLibraryReadsThePixelsBack) {
  constexpr int kHeight = 5, kWidth = 7;
  for (const int channels : {1, 3}) {
    std::vector<uint8_t> pixels;
    for (int i = 0; i < kHeight * kWidth * channels; ++i) {
      pixels.push_back(static_cast<uint8_t>(i * 41));
    }
    const std::string png = EncodePng(pixels, kHeight, kWidth, channels);
    const auto image = db::DecodeImage(png, channels == 3);
    const auto& view = image.view;
    ASSERT_EQ(view.height, kHeight);
    ASSERT_EQ(view.width, kWidth);
    for (int i = 0; i < kHeight * kWidth; ++i) {
      for (int c = 0; c < channels; ++c) {
        EXPECT_EQ(view.data[i * channels + c], pixels[i * channels + channels - 1 - c]) << i;
      }
    }
  }
}

TEST(PngTest, RefusesSizesThatDoNotFit) {
  EXPECT_THROW(EncodePng(std::vector<uint8_t>(11), 2, 2, 3), EnforceNotMet);
  EXPECT_THROW(EncodePng(std::vector<uint8_t>(8), 2, 2, 2), EnforceNotMet);
  EXPECT_THROW(EncodePng({}, 0, 2, 1), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
