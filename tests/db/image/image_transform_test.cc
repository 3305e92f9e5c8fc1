#include "db/image/image_transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "db/image/image_codec.h"
#include "tests/db/encode_jpeg.h"

namespace caffe2::testing {
namespace {

using db::ImageTransform;
using db::ImageTransformOptions;
using db::ImageView;

// Pixels that tell where they come from: 40 y + 7 x + c.
std::vector<uint8_t> Pixels(int height, int width, int channels) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) pixels.push_back(static_cast<uint8_t>(40 * y + 7 * x + c));
    }
  }
  return pixels;
}

ImageTransformOptions TestOptions(int crop, bool color) {
  ImageTransformOptions options;
  options.crop = crop;
  options.color = color;
  options.is_test = true;
  return options;
}

std::vector<float> Apply(const ImageTransformOptions& options, const ImageView<uint8_t>& view,
                         uint64_t seed = 0, const db::BoundingBox& box = {}) {
  const ImageTransform transform(options);
  std::vector<float> out(options.crop * options.crop * transform.channels());
  db::ViewSource<uint8_t> source(view);
  transform.Apply(&source, box, seed, out.data());
  return out;
}

TEST(ImageTransform, CentreCropNormalisedInBothOrders) {
  const auto pixels = Pixels(4, 6, 3);
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 4, 6, 3);
  ImageTransformOptions options = TestOptions(2, true);
  options.mean = {1, 2, 3};
  options.std = {2, 4, 8};
  std::vector<float> nhwc, nchw(12);
  for (int y = 1; y < 3; ++y) {
    for (int x = 2; x < 4; ++x) {
      for (int c = 0; c < 3; ++c) {
        const float value = static_cast<float>(40 * y + 7 * x + c - (c + 1)) / options.std[c];
        nhwc.push_back(value);
        nchw[c * 4 + (y - 1) * 2 + (x - 2)] = value;
      }
    }
  }
  EXPECT_EQ(Apply(options, view), nhwc);
  options.channels_first = true;
  EXPECT_EQ(Apply(options, view), nchw);
}

TEST(ImageTransform, PlanarFloatAndHalfAgreeWithInterleavedBytes) {
  const auto pixels = Pixels(5, 5, 3);
  std::vector<uint8_t> planar(75);
  std::vector<float> floats(75);
  for (int i = 0; i < 25; ++i) {
    for (int c = 0; c < 3; ++c) {
      planar[c * 25 + i] = pixels[3 * i + c];
      floats[3 * i + c] = pixels[3 * i + c];
    }
  }
  ImageTransformOptions options = TestOptions(3, true);
  options.mean = {128};
  options.std = {128};
  const auto expected = Apply(options, ImageView<uint8_t>::Interleaved(pixels.data(), 5, 5, 3));
  EXPECT_EQ(Apply(options, ImageView<uint8_t>::Planar(planar.data(), 5, 5, 3)), expected);
  std::vector<float> out(27);
  db::ViewSource<float> float_source(ImageView<float>::Interleaved(floats.data(), 5, 5, 3));
  ImageTransform(options).Apply(&float_source, {}, 0, out.data());
  EXPECT_EQ(out, expected);
  options.output_type = TypeMeta::Make<float16>();
  std::vector<float16> half(27);
  db::ViewSource<uint8_t> planar_source(ImageView<uint8_t>::Planar(planar.data(), 5, 5, 3));
  ImageTransform(options).Apply(&planar_source, {}, 0, half.data());
  for (int i = 0; i < 27; ++i) EXPECT_EQ(half[i], ToFloat16(expected[i]));
  options.output_type = TypeMeta::Make<bfloat16>();
  std::vector<bfloat16> brain(27);
  ImageTransform(options).Apply(&planar_source, {}, 0, brain.data());
  for (int i = 0; i < 27; ++i) EXPECT_EQ(brain[i], ToBFloat16(expected[i]));
}

TEST(ImageTransform, GrayIsRepeatedAndColourTurnsGray) {
  const std::vector<uint8_t> gray = {10, 20, 30, 40};
  EXPECT_EQ(Apply(TestOptions(2, true), ImageView<uint8_t>::Planar(gray.data(), 2, 2, 1)),
            std::vector<float>({10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40}));
  const std::vector<uint8_t> bgr = {255, 0, 0, 0, 255, 0, 0, 0, 255, 50, 50, 50};
  EXPECT_EQ(Apply(TestOptions(2, false), ImageView<uint8_t>::Interleaved(bgr.data(), 2, 2, 3)),
            std::vector<float>({29, 150, 76, 50}));
}

TEST(ImageTransform, ScaleKeepsTheAspectAndWarpDoesNot) {
  // Left half 0, right half 200: which side is cut off shows.
  std::vector<uint8_t> pixels(8 * 16);
  for (int i = 0; i < 8 * 16; ++i) pixels[i] = i % 16 < 8 ? 0 : 200;
  const auto view = ImageView<uint8_t>::Planar(pixels.data(), 8, 16, 1);
  ImageTransformOptions options = TestOptions(4, false);
  options.scale = 4;  // to 4 x 8, of which the columns 2 to 5 remain
  EXPECT_EQ(Apply(options, view),
            std::vector<float>({0, 0, 200, 200, 0, 0, 200, 200, 0, 0, 200, 200, 0, 0, 200, 200}));
  options.warp = true;
  EXPECT_EQ(Apply(options, view)[1], 0);
  EXPECT_EQ(Apply(options, view)[2], 200);
  options.warp = false;
  options.scale = -1;
  options.minsize = 8;  // long enough already: the centre of 8 x 16
  EXPECT_EQ(Apply(options, view)[1], 0);
  EXPECT_EQ(Apply(options, view)[2], 200);
  options.crop = 12;
  options.minsize = 12;
  EXPECT_EQ(Apply(options, view)[0], 0);
}

// In 3 of 10 images a box becomes 0, of the size that the paper gives. All other pixels are those
// of the image without a box, in both orders and in 16 bits.
TEST(ImageTransform, TrainingErasesBoxes) {
  constexpr int kCrop = 32, kImages = 2000;
  const auto pixels = std::vector<uint8_t>(40 * 40 * 3, 7);
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 40, 40, 3);
  ImageTransformOptions options = TestOptions(kCrop, true);
  options.mean = {4, 5, 6};
  options.mirror = true;
  options.random_erasing = 0.3f;
  options.channels_first = true;
  EXPECT_EQ(Apply(options, view)[0], 3);
  options.is_test = false;
  std::set<int> tops, lefts;
  int erased = 0;
  double smallest = 1, largest = 0;
  for (int seed = 0; seed < kImages; ++seed) {
    const std::vector<float> image = Apply(options, view, static_cast<uint64_t>(seed));
    int top = kCrop, bottom = 0, left = kCrop, right = 0;
    for (int i = 0; i < kCrop * kCrop; ++i) {
      if (image[i] != 0) continue;
      top = std::min(top, i / kCrop);
      bottom = std::max(bottom, i / kCrop + 1);
      left = std::min(left, i % kCrop);
      right = std::max(right, i % kCrop + 1);
    }
    const int height = std::max(bottom - top, 0), width = std::max(right - left, 0);
    for (int i = 0; i < kCrop * kCrop; ++i) {
      const int y = i / kCrop, x = i % kCrop;
      const bool inside = y >= top && y < bottom && x >= left && x < right;
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(image[c * kCrop * kCrop + i], inside ? 0.f : static_cast<float>(3 - c));
      }
    }
    if (height == 0) continue;
    ++erased;
    tops.insert(top);
    lefts.insert(left);
    const double share = 1.0 * height * width / (kCrop * kCrop);
    smallest = std::min(smallest, share);
    largest = std::max(largest, share);
    // Sides are rounded to whole pixels.
    EXPECT_GE((height + 0.5) / (width - 0.5), 0.3);
    EXPECT_LE((height - 0.5) / (width + 0.5), 3.3);
    if (seed > 50) continue;
    options.channels_first = false;
    options.output_type = TypeMeta::Make<bfloat16>();
    std::vector<bfloat16> brain(kCrop * kCrop * 3);
    db::ViewSource<uint8_t> source(view);
    ImageTransform(options).Apply(&source, {}, static_cast<uint64_t>(seed), brain.data());
    for (int i = 0; i < kCrop * kCrop; ++i) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(ToFloat(brain[3 * i + c]), image[c * kCrop * kCrop + i]);
      }
    }
    options.channels_first = true;
    options.output_type = TypeMeta::Make<float>();
  }
  EXPECT_NEAR(erased, 0.3 * kImages, 5 * std::sqrt(0.21 * kImages));
  EXPECT_NEAR(smallest, 0.02, 0.006);
  EXPECT_NEAR(largest, 0.33, 0.03);
  EXPECT_GT(tops.size(), 20u);
  EXPECT_GT(lefts.size(), 20u);
}

TEST(ImageTransform, ErasingChangesNoOtherChoice) {
  const auto pixels = Pixels(6, 6, 1);
  const auto view = ImageView<uint8_t>::Planar(pixels.data(), 6, 6, 1);
  ImageTransformOptions options = TestOptions(4, false);
  options.is_test = false;
  options.mirror = true;
  options.mean = {-1};  // so no pixel is 0
  ImageTransformOptions erasing = options;
  erasing.random_erasing = 1;
  int zeros = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto plain = Apply(options, view, seed), erased = Apply(erasing, view, seed);
    for (int i = 0; i < 16; ++i) {
      if (erased[i] != 0) {
        EXPECT_EQ(erased[i], plain[i]);
      }
      zeros += erased[i] == 0;
    }
  }
  EXPECT_GT(zeros, 50);
  erasing.random_erasing = 1.5f;
  EXPECT_THROW(Apply(erasing, view), EnforceNotMet);
}

TEST(ImageTransform, TrainingCropsAndMirrorsAtRandomBySeed) {
  const auto pixels = Pixels(6, 6, 1);
  const auto view = ImageView<uint8_t>::Planar(pixels.data(), 6, 6, 1);
  ImageTransformOptions options = TestOptions(4, false);
  options.is_test = false;
  options.mirror = true;
  std::set<std::vector<float>> seen;
  int mirrored = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto out = Apply(options, view, seed);
    EXPECT_EQ(out, Apply(options, view, seed));
    const int low = static_cast<int>(std::min(out[0], out[3]));
    const int y = low / 40, x = low % 40 / 7;
    ASSERT_TRUE(y >= 0 && y <= 2 && x >= 0 && x <= 2);
    const bool mirror = out[0] > out[3];
    mirrored += mirror;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        ASSERT_EQ(out[4 * i + j], 40 * (y + i) % 256 + 7 * (x + (mirror ? 3 - j : j)));
      }
    }
    seen.insert(out);
  }
  EXPECT_EQ(seen.size(), 18u) << "9 places, mirrored or not";
  EXPECT_GT(mirrored, 110);
  EXPECT_LT(mirrored, 190);
}

// A square of `side` pixels of an image at (y, x), which may reach beyond it; 0 there.
std::vector<float> OnBlack(const ImageView<uint8_t>& image, int y, int x, int side, bool mirror) {
  std::vector<float> out;
  for (int i = y; i < y + side; ++i) {
    for (int k = 0; k < side; ++k) {
      const int j = x + (mirror ? side - 1 - k : k);
      const bool inside = i >= 0 && i < image.height && j >= 0 && j < image.width;
      for (int c = 0; c < image.channels; ++c) out.push_back(inside ? *image.At(i, j, c) : 0.f);
    }
  }
  return out;
}

float LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// Checks that crops are squares of the padded image: each place, mirrored or not, is drawn.
void ExpectPaddedCrops(ImageTransformOptions options, const ImageView<uint8_t>& source,
                       const ImageView<uint8_t>& scaled, float tolerance) {
  options.is_test = false;
  options.mirror = true;
  const int rows = scaled.height + 2 * options.pad - options.crop + 1,
            columns = scaled.width + 2 * options.pad - options.crop + 1;
  std::set<int> drawn;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const auto out = Apply(options, source, seed);
    int found = 0;
    for (int place = 0; place < 2 * rows * columns; ++place) {
      const int y = place / 2 / columns - options.pad, x = place / 2 % columns - options.pad;
      const auto expected = OnBlack(scaled, y, x, options.crop, place % 2 != 0);
      if (LargestDifference(out, expected) > tolerance) continue;
      drawn.insert(place);
      ++found;
    }
    ASSERT_EQ(found, 1) << "seed " << seed;
  }
  EXPECT_EQ(static_cast<int>(drawn.size()), 2 * rows * columns);
}

TEST(ImageTransform, PadsTrainingImagesWithBlack) {
  auto pixels = Pixels(5, 6, 3);
  for (uint8_t& pixel : pixels) pixel |= 1;  // none is black
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 5, 6, 3);
  ImageTransformOptions options = TestOptions(5, true);
  options.pad = 2;
  ExpectPaddedCrops(options, view, view, 0);
  options.crop = 8;  // larger than the image
  ExpectPaddedCrops(options, view, view, 0);
}

TEST(ImageTransform, TestsDoNotPad) {
  const auto pixels = Pixels(5, 5, 1);
  const auto view = ImageView<uint8_t>::Planar(pixels.data(), 5, 5, 1);
  ImageTransformOptions options = TestOptions(5, false);
  options.pad = 4;
  EXPECT_EQ(Apply(options, view), OnBlack(view, 0, 0, 5, false));
  options.crop = 6;
  EXPECT_THROW(Apply(options, view), EnforceNotMet);
}

TEST(ImageTransform, PadsScaledImages) {
  auto pixels = Pixels(12, 15, 3);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(pixel / 2 + 60);
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 12, 15, 3);
  ImageTransformOptions options = TestOptions(6, true);
  options.pad = 1;
  options.scale = 6;  // shrinks to 6 x 7
  ExpectPaddedCrops(options, view, db::ResizeImage(view, 6, 7).view, 1);
  options.crop = options.scale = 16;  // grows to 16 x 20
  ExpectPaddedCrops(options, view, db::ResizeImage(view, 16, 20).view, 0);
}

// torchvision's RandomCrop with padding, then Normalize: black becomes -mean / std.
TEST(ImageTransform, PaddingIsNormalisedInAllTypesOfPixels) {
  const std::vector<uint8_t> bytes(4 * 4, 50);
  const std::vector<float> floats(bytes.begin(), bytes.end());
  ImageTransformOptions options = TestOptions(4, true);
  options.is_test = false;
  options.pad = 3;
  options.mean = {10, 20, 30};
  options.std = {2};
  bool padded = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto out = Apply(options, ImageView<uint8_t>::Planar(bytes.data(), 4, 4, 1), seed);
    for (int i = 0; i < 4 * 4; ++i) {
      const float pixel = 2 * out[3 * i] + 10;
      ASSERT_TRUE(pixel == 0 || pixel == 50) << pixel;
      padded |= pixel == 0;
      ASSERT_EQ(out[3 * i + 1], (pixel - 20) / 2);
      ASSERT_EQ(out[3 * i + 2], (pixel - 30) / 2);
    }
    const ImageTransform transform(options);
    db::ViewSource<float> source(ImageView<float>::Planar(floats.data(), 4, 4, 1));
    std::vector<float> other(4 * 4 * 3);
    transform.Apply(&source, {}, seed, other.data());
    EXPECT_EQ(other, out);
    db::SampledAugmentation augmentation;  // the first of two steps: pixels, not yet normalised
    transform.Crop(&source, {}, seed, TypeMeta::Make<float>(), other.data(), &augmentation);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ((other[i] - options.mean[i % 3]) / 2, out[i]);
    }
  }
  EXPECT_TRUE(padded);
}

TEST(ImageTransform, RandomScaleAndInceptionStayInside) {
  const std::vector<uint8_t> pixels(20 * 30 * 3, 77);
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 20, 30, 3);
  ImageTransformOptions options = TestOptions(8, true);
  options.is_test = false;
  for (const bool inception : {false, true}) {
    options.scale_jitter = inception ? db::ScaleJitter::kInception : db::ScaleJitter::kNone;
    options.random_scale_min = inception ? -1 : 8;
    options.random_scale_max = inception ? -1 : 24;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      for (const float value : Apply(options, view, seed)) ASSERT_EQ(value, 77);
    }
  }
}

TEST(ImageTransform, JitterChangesColoursAndDependsOnTheSeedOnly) {
  const auto pixels = Pixels(4, 4, 3);
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 4, 4, 3);
  ImageTransformOptions options = TestOptions(4, true);
  const auto plain = Apply(options, view);
  options.color_jitter = options.color_lighting = true;
  EXPECT_EQ(Apply(options, view), plain) << "none in testing";
  options.is_test = false;
  EXPECT_NE(Apply(options, view, 1), plain);
  EXPECT_EQ(Apply(options, view, 1), Apply(options, view, 1));
  EXPECT_NE(Apply(options, view, 1), Apply(options, view, 2));
  // Brightness alone is one factor for all.
  options.color_lighting = false;
  options.saturation = options.contrast = 0;
  const auto bright = Apply(options, view, 3);
  const float factor = bright[10] / plain[10];
  EXPECT_GE(factor, 0.6f);
  EXPECT_LE(factor, 1.4f);
  for (size_t i = 1; i < plain.size(); ++i) EXPECT_NEAR(bright[i], factor * plain[i], 1e-3);
}

// What is read for a crop gives the pixels that shrinking the whole image gives.
TEST(ImageTransform, CropsOfShrunkenImagesAreThoseOfTheWhole) {
  const auto pixels = Pixels(61, 83, 3);
  const auto view = ImageView<uint8_t>::Interleaved(pixels.data(), 61, 83, 3);
  ImageTransformOptions options = TestOptions(24, true);
  options.scale = 32;
  const auto whole = db::ResizeImage(view, 32, 83 * 32 / 61);
  const int y0 = (32 - 24) / 2, x0 = (83 * 32 / 61 - 24) / 2;
  const auto out = Apply(options, view);
  for (int y = 0; y < 24; ++y) {
    for (int x = 0; x < 24; ++x) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_NEAR(out[(y * 24 + x) * 3 + c], *whole.view.At(y0 + y, x0 + x, c), 1);
      }
    }
  }
}

// Discs that cover each other, with many small ones, which have the edges and the spectrum of
// photographs (Lee, Mumford and Huang, "Occlusion models for natural images", 2001).
std::vector<uint8_t> DeadLeaves(int height, int width) {
  constexpr double kSmallest = 16, kLargest = 300;
  RandomGenerator random(11);
  std::vector<uint8_t> pixels(size_t{3} * height * width);
  for (int disc = 0; disc < 20000; ++disc) {
    // The density of the radius is proportional to radius^-3.
    const double u = random.Uniform();
    const double radius =
        1 / std::sqrt((1 - u) / (kSmallest * kSmallest) + u / (kLargest * kLargest));
    const double y = random.Uniform() * height, x = random.Uniform() * width;
    const int gray = static_cast<int>(random() % 150);
    uint8_t color[3];
    for (uint8_t& value : color) value = static_cast<uint8_t>(gray + random() % 56);
    const int bottom = std::min(height, static_cast<int>(y + radius));
    for (int row = std::max(0, static_cast<int>(y - radius)); row < bottom; ++row) {
      const double square = radius * radius - (row - y) * (row - y);
      const double half = std::sqrt(std::max(square, 0.));
      const int end = std::min(width, static_cast<int>(x + half));
      for (int column = std::max(0, static_cast<int>(x - half)); column < end; ++column) {
        std::copy_n(color, 3, &pixels[(size_t{1} * row * width + column) * 3]);
      }
    }
  }
  return pixels;
}

// libjpeg reduces a JPEG file that is scaled to a quarter or less. The bounds are the largest
// figures of photographs for each reduction (db/README.md).
TEST(ImageTransform, ReducedJpegsDifferLittleFromWholeOnes) {
  constexpr int kHeight = 1032, kWidth = 1301;
  const std::string file = EncodeJpeg(kHeight, kWidth, DeadLeaves(kHeight, kWidth));
  db::DecodedImage whole(db::DecodeImage(file, true));
  for (const auto& [reduction, max_mean] : {std::pair(2, 0.87), {4, 1.14}, {8, 1.32}}) {
    ImageTransformOptions options = TestOptions(448 / reduction, true);
    options.scale = 512 / reduction;
    for (const bool is_test : {true, false}) {
      options.is_test = is_test;
      const ImageTransform transform(options);
      std::vector<float> reduced(size_t{3} * options.crop * options.crop), exact(reduced.size());
      transform.Apply(db::OpenImage(file, true).get(), {}, 1, reduced.data());
      transform.Apply<uint8_t>(&whole, {}, 1, exact.data());
      double sum = 0, largest = 0;
      for (size_t i = 0; i < exact.size(); ++i) {
        const double difference = std::abs(reduced[i] - exact[i]);
        sum += difference;
        largest = std::max(largest, difference);
      }
      EXPECT_GT(sum, 0) << "the file was not reduced by " << reduction;
      EXPECT_LT(sum / static_cast<double>(exact.size()), max_mean) << reduction;
      EXPECT_LE(largest, 32) << reduction;
    }
  }
}

TEST(ImageTransform, BoundingBoxComesFirst) {
  const auto pixels = Pixels(6, 6, 1);
  const auto view = ImageView<uint8_t>::Planar(pixels.data(), 6, 6, 1);
  const auto out = Apply(TestOptions(2, false), view, 0, {3, 4, 2, 2});
  EXPECT_EQ(out, std::vector<float>({148, 155, 188, 195}));
  for (const db::BoundingBox& box : std::vector<db::BoundingBox>{{-1, 0, 2, 2},
                                                                 {5, 0, 2, 2},
                                                                 {0, 5, 2, 2},
                                                                 {0, 0, 7, 2},
                                                                 {0, 0, 2, 0},
                                                                 {0, 1 << 30, 2, 1 << 30}}) {
    EXPECT_THROW(Apply(TestOptions(2, false), view, 0, box), EnforceNotMet);
  }
}

TEST(ImageTransform, BadOptionsAndImages) {
  const std::vector<uint8_t> pixels(64);
  const auto view = ImageView<uint8_t>::Planar(pixels.data(), 4, 4, 1);
  EXPECT_THROW(Apply(TestOptions(5, false), view), EnforceNotMet);
  const auto two = ImageView<uint8_t>::Planar(pixels.data(), 4, 4, 2);
  EXPECT_THROW(Apply(TestOptions(2, true), two), EnforceNotMet);
  const auto refuse = [](const std::function<void(ImageTransformOptions*)>& change) {
    ImageTransformOptions options = TestOptions(4, true);
    change(&options);
    EXPECT_THROW(ImageTransform{options}, EnforceNotMet);
  };
  refuse([](auto* o) { o->crop = 0; });
  refuse([](auto* o) { o->scale = o->minsize = 8; });
  refuse([](auto* o) { o->scale = 3; });
  refuse([](auto* o) { o->scale = 3, o->pad = 2; });  // too small for tests
  refuse([](auto* o) { o->pad = -1; });
  refuse([](auto* o) { o->pad = 4; });
  refuse([](auto* o) { o->pad = 1, o->scale_jitter = db::ScaleJitter::kInception; });
  refuse([](auto* o) { o->mean = {1, 2}; });
  refuse([](auto* o) { o->std = {0}; });
  refuse([](auto* o) { o->std = {NAN}; });
  refuse([](auto* o) { o->random_scale_min = 2, o->random_scale_max = 8; });
  refuse([](auto* o) { o->output_type = TypeMeta::Make<int>(); });
}

}  // namespace
}  // namespace caffe2::testing
