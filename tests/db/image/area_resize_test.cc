#include "db/image/area_resize.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/core/random.h"
#include "db/image/opencv_mat.h"

namespace caffe2::testing {
namespace {

using db::AreaAxis;
using db::ImageView;

std::vector<uint8_t> Noise(int height, int width, int channels) {
  RandomGenerator random(11);
  std::vector<uint8_t> pixels(static_cast<size_t>(height) * width * channels);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random() % 256);
  return pixels;
}

// A window of the image that OpenCV shrinks as a whole.
void ExpectAsOpenCv(int height, int width, int channels, int to_height, int to_width) {
  const auto pixels = Noise(height, width, channels);
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), height, width, channels);
  cv::Mat whole;
  cv::resize(db::ToMat(view), whole, {to_width, to_height}, 0, 0, cv::INTER_AREA);
  const int y0 = to_height / 3, x0 = to_width / 4;
  AreaAxis rows{0, static_cast<double>(height) / to_height, to_height - y0};
  AreaAxis columns{0, static_cast<double>(width) / to_width, to_width - x0 - to_width / 5};
  rows.begin = y0 * rows.step;
  columns.begin = x0 * columns.step;
  const auto part = view.Part(rows.first(), columns.first(), rows.end() - rows.first(),
                              columns.end() - columns.first());
  rows.begin -= rows.first();
  columns.begin -= columns.first();
  std::vector<uint8_t> out(static_cast<size_t>(rows.count) * columns.count * channels);
  ShrinkByArea(part, rows, columns, out.data());
  int64_t different = 0;
  for (int y = 0; y < rows.count; ++y) {
    for (int x = 0; x < columns.count; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int expected = whole.ptr<uint8_t>(y0 + y)[(x0 + x) * channels + c];
        const int pixel = out[(static_cast<size_t>(y) * columns.count + x) * channels + c];
        ASSERT_NEAR(pixel, expected, 1) << y << " " << x << " " << c;
        different += pixel != expected;
      }
    }
  }
  // Only ties and the last bits of the sums; 2 x 2 pixels have many ties.
  const double share = static_cast<double>(different) / static_cast<double>(out.size());
  EXPECT_LT(share, height == 2 * to_height ? 0.3 : 0.01);
}

TEST(AreaResizeTest, WindowsAreThoseOfOpenCv) {
  for (const int channels : {1, 3}) {
    ExpectAsOpenCv(375, 500, channels, 256, 341);
    ExpectAsOpenCv(512, 512, channels, 256, 256);
    ExpectAsOpenCv(300, 301, channels, 299, 300);
    ExpectAsOpenCv(999, 777, channels, 111, 100);
    ExpectAsOpenCv(64, 40, channels, 64, 33);  // one axis keeps its size
    ExpectAsOpenCv(9, 7, channels, 5, 6);
  }
}

TEST(AreaResizeTest, ExactMeans) {
  const std::vector<uint8_t> pixels = {0, 100, 200, 50, 0, 0, 255, 255};
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 2, 4, 1);
  std::vector<uint8_t> out(2);
  ShrinkByArea(view, {0, 2, 1}, {0, 2, 2}, out.data());
  EXPECT_EQ(out, (std::vector<uint8_t>{25, 190}));
  // Pixels 0.5 to 2 and 2 to 3.5 of the first row.
  ShrinkByArea(view, {0, 1, 1}, {0.5, 1.5, 2}, out.data());
  EXPECT_EQ(out, (std::vector<uint8_t>{67, 150}));
}

TEST(AreaResizeTest, RefusesAreasOutside) {
  const auto pixels = Noise(8, 8, 3);
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 8, 8, 3);
  std::vector<uint8_t> out(8 * 8 * 3);
  EXPECT_THROW(ShrinkByArea(view, {0, 2, 5}, {0, 1, 8}, out.data()), EnforceNotMet);
  EXPECT_THROW(ShrinkByArea(view, {0, 1, 8}, {-1, 1, 8}, out.data()), EnforceNotMet);
  EXPECT_THROW(ShrinkByArea(view, {0, 0.5, 8}, {0, 1, 8}, out.data()), EnforceNotMet);
  EXPECT_THROW(ShrinkByArea(ImageView<uint8_t>::Planar(pixels.data(), 8, 8, 3), {0, 1, 8},
                            {0, 1, 8}, out.data()),
               EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing
