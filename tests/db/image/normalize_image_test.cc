#include "db/image/normalize_image.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/core/random.h"

namespace caffe2::testing {
namespace {

using db::ImageView;

constexpr float kMean[] = {104.5f, 0.f, 250.f}, kStd[] = {57.25f, -3.f, 0.125f};

float ValueOf(float value) { return value; }
uint16_t ValueOf(float16 value) { return value.x; }
uint16_t ValueOf(bfloat16 value) { return value.x; }

template <typename T>
T Rounded(float value) {
  if constexpr (std::is_same_v<T, float16>) return ToFloat16(value);
  if constexpr (std::is_same_v<T, bfloat16>) return ToBFloat16(value);
  if constexpr (std::is_same_v<T, float>) return value;
}

// Compares each element with the formula.
template <typename T>
void Check(const ImageView<uint8_t>& image, bool mirror, bool channels_first) {
  const int height = image.height, width = image.width, channels = image.channels;
  std::vector<float> mean, std;
  for (int i = 0; i < width * channels; ++i) {
    mean.push_back(kMean[channels_first ? i / width : i % channels]);
    std.push_back(kStd[channels_first ? i / width : i % channels]);
  }
  const T unwritten = Rounded<T>(-77);
  std::vector<T> output(static_cast<size_t>(height * width * channels + 1), unwritten);
  db::NormalizeImage(image, mirror, channels_first, mean.data(), std.data(), output.data());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const float pixel = *image.At(y, mirror ? width - 1 - x : x, c);
        const int at =
            channels_first ? (c * height + y) * width + x : (y * width + x) * channels + c;
        ASSERT_EQ(ValueOf(output[static_cast<size_t>(at)]),
                  ValueOf(Rounded<T>((pixel - kMean[c]) / kStd[c])))
            << height << "x" << width << "x" << channels << " in steps of " << image.column_stride
            << " and " << image.channel_stride << ", mirror " << mirror << ", channels first "
            << channels_first << ": " << y << " " << x << " " << c;
      }
    }
  }
  EXPECT_EQ(ValueOf(output.back()), ValueOf(unwritten));
}

void CheckAll(const ImageView<uint8_t>& image) {
  for (const bool mirror : {false, true}) {
    for (const bool channels_first : {false, true}) {
      Check<float>(image, mirror, channels_first);
      Check<float16>(image, mirror, channels_first);
      Check<bfloat16>(image, mirror, channels_first);
    }
  }
}

TEST(NormalizeImage, FollowsTheFormulaForAllLayouts) {
  constexpr int kHeight = 5;
  RandomGenerator random(3);
  for (const int width : {1, 2, 15, 64, 131}) {
    std::vector<uint8_t> pixels(static_cast<size_t>(kHeight * (width + 2) * 4));
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random() % 256);
    for (const int channels : {1, 3}) {
      CheckAll(ImageView<uint8_t>::Interleaved(pixels.data(), kHeight, width, channels));
      CheckAll(ImageView<uint8_t>::Planar(pixels.data(), kHeight, width, channels));
      // Parts of larger images.
      CheckAll(ImageView<uint8_t>::Interleaved(pixels.data(), kHeight, width + 2, channels)
                   .Part(1, 2, kHeight - 1, width));
      CheckAll(ImageView<uint8_t>::Planar(pixels.data(), kHeight, width + 2, channels)
                   .Part(1, 1, kHeight - 1, width));
    }
    // Gray or the first colour for all channels, and the colours of pixels with a fourth byte.
    ImageView<uint8_t> view = ImageView<uint8_t>::Interleaved(pixels.data(), kHeight, width, 1);
    view.channels = 3;
    view.channel_stride = 0;
    CheckAll(view);
    view = ImageView<uint8_t>::Interleaved(pixels.data(), kHeight, width, 3);
    view.channel_stride = 0;
    CheckAll(view);
    view = ImageView<uint8_t>::Interleaved(pixels.data(), kHeight, width, 4);
    view.channels = 3;
    CheckAll(view);
  }
}

}  // namespace
}  // namespace caffe2::testing
