// Renders a substitute for MNIST if the real files are not available: digits with random thickness,
// slant, size and position, in MNIST's file format (IDX).
//
//   render_digits --output_dir DIR [--train 60000] [--test 10000] [--picture FILE.jpg] [--seed 1]
//
// Writes train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte. The same seed gives the same files. Each appears complete or not at
// all.

#include <gflags/gflags.h>

#include <cmath>
#include <opencv2/imgproc.hpp>
#include <string>

#include "caffe2/core/random.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "db/image/jpeg.h"
#include "train/atomic_file.h"

DEFINE_string(output_dir, "", "existing folder for the four files (required)");
DEFINE_int32(train, 60000, "number of training images");
DEFINE_int32(test, 10000, "number of test images");
DEFINE_string(picture, "", "also write the first test image as a JPEG file of this name");
DEFINE_int64(seed, 1, "seed of the random distortions");

namespace caffe2 {
namespace {

constexpr int kSide = 28;    // of an image
constexpr int kCanvas = 84;  // drawn larger, then scaled down smoothly

float Between(RandomGenerator* random, float low, float high) {
  return low + (high - low) * random->Uniform();
}

cv::Mat RenderDigit(int digit, RandomGenerator* random) {
  static const int kFonts[] = {cv::FONT_HERSHEY_SIMPLEX, cv::FONT_HERSHEY_DUPLEX,
                               cv::FONT_HERSHEY_COMPLEX, cv::FONT_HERSHEY_SCRIPT_SIMPLEX};
  const int font = kFonts[random->UniformInt(std::size(kFonts))];
  const int thickness = 4 + static_cast<int>(random->UniformInt(6));
  const std::string text = std::to_string(digit);
  int baseline = 0;
  const cv::Size size = cv::getTextSize(text, font, 2.0, thickness, &baseline);
  cv::Mat canvas = cv::Mat::zeros(kCanvas, kCanvas, CV_8U);
  cv::putText(canvas, text, {(kCanvas - size.width) / 2, (kCanvas + size.height) / 2}, font, 2.0,
              cv::Scalar(255), thickness, cv::LINE_AA);
  // Rotation, slant, scale and shift, about the centre.
  const float angle = Between(random, -0.25f, 0.25f), slant = Between(random, -0.3f, 0.3f);
  const float scale_x = Between(random, 0.8f, 1.2f), scale_y = Between(random, 0.8f, 1.2f);
  const float c = std::cos(angle), s = std::sin(angle), center = kCanvas / 2.f;
  const float a = c * scale_x, b = (c * slant - s) * scale_y, d = s * scale_x,
              e = (s * slant + c) * scale_y;
  const float shift_x = Between(random, -6, 6), shift_y = Between(random, -6, 6);
  const cv::Matx23f transform(a, b, center - a * center - b * center + shift_x, d, e,
                              center - d * center - e * center + shift_y);
  cv::Mat warped, image;
  cv::warpAffine(canvas, warped, transform, canvas.size(), cv::INTER_LINEAR);
  cv::resize(warped, image, {kSide, kSide}, 0, 0, cv::INTER_AREA);
  return image;
}

void AddBigEndian(std::string* bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes->push_back(static_cast<char>(value >> shift));
}

std::string JpegOf(const std::string& pixels) {
  return db::EncodeJpeg(db::ImageView<uint8_t>::Interleaved(
      reinterpret_cast<const uint8_t*>(pixels.data()), kSide, kSide, 1));
}

constexpr size_t kHeader = 16;  // bytes before the pixels of the first image

struct DigitFiles {
  std::string images, labels;
};

DigitFiles RenderSet(int count, uint64_t seed) {
  std::string images, labels;
  for (uint32_t value : {2051u, static_cast<uint32_t>(count), 28u, 28u})
    AddBigEndian(&images, value);
  for (uint32_t value : {2049u, static_cast<uint32_t>(count)}) AddBigEndian(&labels, value);
  RandomGenerator random(seed);
  for (int i = 0; i < count; ++i) {
    const int digit = static_cast<int>(random.UniformInt(10));
    const cv::Mat image = RenderDigit(digit, &random);
    images.append(image.ptr<char>(), kSide * kSide);
    labels.push_back(static_cast<char>(digit));
  }
  return {images, labels};
}

void WriteSet(const std::string& stem, const DigitFiles& files) {
  WriteWholeFile(FLAGS_output_dir + "/" + stem + "-images-idx3-ubyte", files.images);
  WriteWholeFile(FLAGS_output_dir + "/" + stem + "-labels-idx1-ubyte", files.labels);
}

int Run() {
  CheckUsage(!FLAGS_output_dir.empty(), "--output_dir is needed");
  CheckUsage(FLAGS_train > 0, "--train must be positive, found ", FLAGS_train);
  CheckUsage(FLAGS_test > 0, "--test must be positive, found ", FLAGS_test);
  const DigitFiles train = RenderSet(FLAGS_train, FLAGS_seed);
  const DigitFiles test = RenderSet(FLAGS_test, FLAGS_seed + 1);
  // First, so that a name that cannot be written leaves no files.
  if (!FLAGS_picture.empty()) {
    WriteWholeFile(FLAGS_picture, JpegOf(test.images.substr(kHeader, kSide * kSide)));
  }
  WriteSet("train", train);
  WriteSet("t10k", test);
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Renders digits in MNIST's file format.", caffe2::Run);
}
