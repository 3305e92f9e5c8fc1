#include "db/image/image_limits.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe2/core/logging.h"
#include "db/image/image_codec.h"
#include "tests/db/db_test_util.h"
#include "tests/db/encode_jpeg.h"

namespace caffe2::testing {
namespace {

// A progressive JPEG file of libjpeg's own script: ten scans.
std::string ProgressiveJpeg(int side) {
  const auto bytes = static_cast<size_t>(side) * static_cast<size_t>(side) * 3;
  return EncodeJpeg(side, side, std::vector<uint8_t>(bytes, 100), {.progressive = true});
}

// The beginning of a PNG file of this size.
std::string PngHeader(const std::string& width, const std::string& height) {
  return std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) + width + height +
         std::string("\x08\x02\0\0\0", 5) + std::string(100, 'x');
}

class ImageLimitsTest : public ::testing::Test {
 protected:
  ~ImageLimitsTest() override { db::SetImageLimits({}); }

  static std::string ErrorOf(const std::string& image) {
    return ThrownMessage<EnforceNotMet>([&] { db::DecodeImage(image, true); });
  }
};

TEST_F(ImageLimitsTest, OrdinaryProgressiveFilesAreWithin) {
  EXPECT_EQ(db::DecodeImage(ProgressiveJpeg(64), true).view.height, 64);
}

TEST_F(ImageLimitsTest, Pixels) {
  std::string jpeg = ProgressiveJpeg(64);
  const size_t frame = jpeg.find("\xff\xc2");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");  // its height and width
  EXPECT_NE(ErrorOf(jpeg).find("65500x65500"), std::string::npos);
  EXPECT_NE(ErrorOf(PngHeader(std::string("\0\0\x40\0", 4), std::string("\0\0\x20\1", 4)))
                .find("8193x16384"),
            std::string::npos);
  EXPECT_NE(
      ErrorOf(PngHeader("\xff\xff\xff\xff", "\xff\xff\xff\xff")).find("larger than the limit"),
      std::string::npos);
  db::SetImageLimits({.max_pixels = 64 * 64 - 1});
  EXPECT_NE(ErrorOf(ProgressiveJpeg(64)).find("limit of 4095"), std::string::npos);
}

TEST_F(ImageLimitsTest, Scans) {
  db::SetImageLimits({.max_jpeg_scans = 9});
  EXPECT_NE(ErrorOf(ProgressiveJpeg(64)).find("more than 9 scans"), std::string::npos);
  db::SetImageLimits({.max_jpeg_scans = 10});
  EXPECT_EQ(db::DecodeImage(ProgressiveJpeg(64), true).view.width, 64);
}

TEST_F(ImageLimitsTest, Memory) {
  const std::string jpeg = ProgressiveJpeg(1024);  // 6 MB of coefficients, at half the chroma 3 MB
  db::SetImageLimits({.max_jpeg_bytes = 1 << 20});
  EXPECT_NE(ErrorOf(jpeg).find("cannot be decoded"), std::string::npos);
  db::SetImageLimits({});
  EXPECT_EQ(db::DecodeImage(jpeg, true).view.width, 1024);
}

// Decoders of other formats take gigabytes for files of a few bytes: the first makes OpenEXR ask
// for 1.9 GB. It is one of OpenCV's formats, like DICOM, Sun raster and JPEG 2000.
TEST_F(ImageLimitsTest, OtherFormatsAreNotDecoded) {
  const std::string exr("v/1\x01\x02\0\0\0N2cv9Exce\0\0N2cv9Exceptio", 32);
  const std::string dicom = std::string(128, '\0') + "DICM" + std::string(60, '\x02');
  const std::string raster("\x59\xa6\x6a\x95\0\0\0\x01\0\0\0\x01\0\0\0\x18", 16);
  const std::string jpeg2000("\0\0\0\x0cjP  \r\n\x87\n", 12);
  for (const std::string& bytes : {exr, dicom, raster, jpeg2000, std::string("GIF89a"),
                                   std::string("P7\nWIDTH 1\n"), std::string("text")}) {
    EXPECT_EQ(ErrorOf(bytes).find(MakeString("the image of ", bytes.size(),
                                             " bytes is not a JPEG, PNG, WebP, BMP, TIFF or PNM")),
              0u)
        << ErrorOf(bytes);
  }
}

TEST_F(ImageLimitsTest, MustBePositive) {
  EXPECT_THROW(db::SetImageLimits({.max_pixels = 0}), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing
