#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <random>
#include <vector>

#include "caffe2/core/logging.h"
#include "db/image/jpeg.h"

namespace caffe2::testing {
namespace {

using db::ImageView;

constexpr int kHeight = 37, kWidth = 51;

// A gradient with noise: each channel differs.
std::vector<uint8_t> NoisyGradient(int channels) {
  std::mt19937 random(3);
  std::vector<uint8_t> pixels;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      for (int c = 0; c < channels; ++c) {
        pixels.push_back(
            static_cast<uint8_t>(4 * y + (c + 1) * x / 2 + static_cast<int>(random() % 8)));
      }
    }
  }
  return pixels;
}

TEST(JpegEncoder, PixelsAreThoseOfOpenCv) {
  for (const int channels : {1, 3}) {
    std::vector<uint8_t> pixels = NoisyGradient(channels);
    const cv::Mat source(kHeight, kWidth, CV_MAKETYPE(CV_8U, channels), pixels.data());
    std::vector<uint8_t> expected;
    ASSERT_TRUE(cv::imencode(".jpg", source, expected));
    const std::string file =
        db::EncodeJpeg(ImageView<uint8_t>::Interleaved(pixels.data(), kHeight, kWidth, channels));
    const cv::Mat a = cv::imdecode(expected, cv::IMREAD_UNCHANGED);
    const cv::Mat b =
        cv::imdecode(std::vector<char>(file.begin(), file.end()), cv::IMREAD_UNCHANGED);
    ASSERT_EQ(b.rows, kHeight);
    ASSERT_EQ(b.cols, kWidth);
    ASSERT_EQ(b.channels(), channels);
    EXPECT_EQ(cv::norm(a, b, cv::NORM_INF), 0) << channels << " channels";
  }
}

TEST(JpegEncoder, ReadsAnyLayout) {
  const std::vector<uint8_t> pixels = NoisyGradient(3);
  std::vector<uint8_t> planar(pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i) {
    planar[i % 3 * kHeight * kWidth + i / 3] = pixels[i];
  }
  const auto whole = ImageView<uint8_t>::Interleaved(pixels.data(), kHeight, kWidth, 3);
  EXPECT_EQ(db::EncodeJpeg(ImageView<uint8_t>::Planar(planar.data(), kHeight, kWidth, 3)),
            db::EncodeJpeg(whole));
  const auto part = db::DecodeJpeg(db::EncodeJpeg(whole.Part(5, 7, 16, 20)), /*color=*/true);
  ASSERT_EQ(part.view.height, 16);
  ASSERT_EQ(part.view.width, 20);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 20; ++x)
      EXPECT_NEAR(*part.view.At(y, x, 1), *whole.At(y + 5, x + 7, 1), 16);
  }
}

TEST(JpegEncoder, OddImagesAreRefused) {
  const std::vector<uint8_t> pixels(65600 * 2);
  EXPECT_THROW(db::EncodeJpeg(ImageView<uint8_t>::Interleaved(pixels.data(), 4, 4, 2)),
               EnforceNotMet);
  EXPECT_THROW(db::EncodeJpeg(ImageView<uint8_t>::Interleaved(pixels.data(), 1, 65600, 1)),
               EnforceNotMet);
  EXPECT_THROW(db::EncodeJpeg(ImageView<uint8_t>::Interleaved(pixels.data(), 0, 4, 1)),
               EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing
