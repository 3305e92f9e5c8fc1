#include "db/image/image_codec.h"

#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "caffe2/core/logging.h"
#include "caffe2/core/random.h"
#include "db/image/jpeg.h"
#include "tests/db/encode_jpeg.h"

namespace caffe2::testing {
namespace {

using db::ImageView;

// Smooth, with some noise: what photographs are like to an encoder.
std::vector<uint8_t> Photograph(int height, int width, int channels) {
  RandomGenerator random(7);
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int noise = static_cast<int>(random() % 16);
        pixels.push_back(static_cast<uint8_t>((y * (c + 2) + x * 3) % 200 + noise));
      }
    }
  }
  return pixels;
}

std::string EncodedPhotograph(int channels, const std::string& extension) {
  const auto pixels = Photograph(60, 45, channels);
  return db::EncodeImage(ImageView<uint8_t>::Interleaved(pixels.data(), 60, 45, channels),
                         extension);
}

// An EXIF segment that holds the orientation alone, behind the start marker.
std::string WithOrientation(const std::string& jpeg, char orientation, bool little_endian) {
  std::string exif("Exif\0\0", 6);
  exif += little_endian ? std::string("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18)
                        : std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01", 18);
  exif += little_endian ? std::string{orientation, 0, 0, 0} : std::string{0, orientation, 0, 0};
  exif += std::string(4, '\0');
  const std::string segment = "\xff\xe1" + std::string{0, static_cast<char>(exif.size() + 2)};
  return jpeg.substr(0, 2) + segment + exif + jpeg.substr(2);
}

// A JPEG file of four inks.
std::string CmykJpeg(int height, int width) {
  return EncodeJpeg(height, width, Photograph(height, width, 4), {.channels = 4});
}

void ExpectAsOpenCvDecodes(const std::string& file, bool color, int tolerance = 0) {
  const std::vector<char> bytes(file.begin(), file.end());
  const cv::Mat expected = cv::imdecode(bytes, color ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE);
  const auto image = db::DecodeImage(file, color);
  const ImageView<uint8_t>& view = image.view;
  ASSERT_EQ(view.height, expected.rows);
  ASSERT_EQ(view.width, expected.cols);
  ASSERT_EQ(view.channels, expected.channels());
  for (int y = 0; y < view.height; ++y) {
    for (int x = 0; x < view.width; ++x) {
      for (int c = 0; c < view.channels; ++c) {
        const int pixel = expected.ptr<uint8_t>(y)[x * view.channels + c];
        ASSERT_NEAR(*view.At(y, x, c), pixel, tolerance) << y << " " << x << " " << c;
      }
    }
  }
}

TEST(ImageCodec, LosslessRoundTripAndColours) {
  const auto pixels = Photograph(60, 45, 3);
  const auto color = db::DecodeImage(EncodedPhotograph(3, ".png"), true);
  ASSERT_EQ(color.view.channels, 3);
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 45; ++x) {
      for (int c = 0; c < 3; ++c) EXPECT_EQ(*color.view.At(y, x, c), pixels[(y * 45 + x) * 3 + c]);
    }
  }
  EXPECT_EQ(db::DecodeImage(EncodedPhotograph(3, ".png"), false).view.channels, 1);
}

TEST(ImageCodec, JpegAsOpenCv) {
  for (const bool color : {true, false}) {
    ExpectAsOpenCvDecodes(EncodedPhotograph(3, ".jpg"), color);
    ExpectAsOpenCvDecodes(EncodedPhotograph(1, ".jpg"), color);
  }
  ExpectAsOpenCvDecodes(CmykJpeg(60, 45), true);
  ExpectAsOpenCvDecodes(CmykJpeg(60, 45), false, 1);  // it rounds otherwise
}

TEST(ImageCodec, ExifOrientationAsOpenCv) {
  const std::string jpeg = EncodedPhotograph(3, ".jpg");
  for (char orientation = 0; orientation <= 9; ++orientation) {
    ExpectAsOpenCvDecodes(WithOrientation(jpeg, orientation, true), true);
    ExpectAsOpenCvDecodes(WithOrientation(jpeg, orientation, false), false);
  }
  EXPECT_EQ(db::DecodeImage(WithOrientation(jpeg, 6, true), true).view.height, 45);
}

TEST(ImageCodec, HeadersSayWhatAnotherDecoderNeeds) {
  const std::string jpeg = EncodedPhotograph(3, ".jpg");
  const auto obstacle = [](const std::string& file) {
    const char* text = db::ReadJpegHeader(file).obstacle;
    return text != nullptr ? std::string(text) : "";
  };
  const db::JpegHeader header = db::ReadJpegHeader(WithOrientation(jpeg, 6, true));
  EXPECT_EQ(header.height, 60);
  EXPECT_EQ(header.width, 45);
  EXPECT_EQ(header.orientation, 6);
  EXPECT_EQ(header.obstacle, nullptr);
  EXPECT_EQ(obstacle(EncodedPhotograph(1, ".jpg")), "");
  EXPECT_EQ(obstacle(CmykJpeg(60, 45)), "the JPEG file has four inks");
  EXPECT_EQ(obstacle(jpeg.substr(0, jpeg.size() - 2)), "the JPEG file has no end");
  std::vector<uint8_t> progressive;
  cv::imencode(".jpg", cv::Mat(60, 45, CV_8UC3), progressive, {cv::IMWRITE_JPEG_PROGRESSIVE, 1});
  EXPECT_EQ(obstacle({progressive.begin(), progressive.end()}), "the JPEG file has several scans");
  EXPECT_THROW(db::ReadJpegHeader(jpeg.substr(0, 100)), EnforceNotMet);
}

// Lengths and places that lead out of the segment.
TEST(ImageCodec, DamagedExifIsIgnored) {
  const std::string jpeg = WithOrientation(EncodedPhotograph(3, ".jpg"), 6, true);
  for (size_t at = 12; at < 12 + 26; ++at) {
    std::string damaged = jpeg;
    damaged[at] = '\xff';
    EXPECT_EQ(db::DecodeImage(damaged, true).view.channels, 3) << at;
  }
}

// A JPEG file with colours of half the resolution, which are upsampled.
std::string SubsampledJpeg(int height, int width, bool progressive) {
  const auto pixels = Photograph(height, width, 3);
  const cv::Mat image(height, width, CV_8UC3, const_cast<uint8_t*>(pixels.data()));
  std::vector<uint8_t> bytes;
  cv::imencode(".jpg", image, bytes,
               {cv::IMWRITE_JPEG_QUALITY, 90, cv::IMWRITE_JPEG_PROGRESSIVE, progressive ? 1 : 0});
  return {bytes.begin(), bytes.end()};
}

TEST(ImageCodec, PartsOfAJpegAreThoseOfTheWhole) {
  RandomGenerator random(3);
  for (const bool progressive : {false, true}) {
    for (const bool color : {true, false}) {
      const std::string file = SubsampledJpeg(213, 187, progressive);
      const auto whole = db::DecodeImage(file, color);
      const auto source = db::OpenImage(file, color);
      ASSERT_EQ(source->height(), 213);
      ASSERT_EQ(source->width(), 187);
      ASSERT_EQ(source->channels(), color ? 3 : 1);
      for (int trial = 0; trial < 60; ++trial) {
        db::BoundingBox part;
        part.height = 1 + static_cast<int>(random() % 213);
        part.width = 1 + static_cast<int>(random() % 187);
        part.ymin = static_cast<int>(random() % (214 - part.height));
        part.xmin = static_cast<int>(random() % (188 - part.width));
        const auto view = source->Read(part, 1);
        for (int y = 0; y < part.height; ++y) {
          for (int x = 0; x < part.width; ++x) {
            for (int c = 0; c < view.channels; ++c) {
              ASSERT_EQ(*view.At(y, x, c), *whole.view.At(part.ymin + y, part.xmin + x, c))
                  << part.ymin << " " << part.xmin << " " << part.height << " " << part.width
                  << ": " << y << " " << x << " " << c;
            }
          }
        }
      }
    }
  }
}

TEST(ImageCodec, ReducedJpegsAreCloseToMeans) {
  const std::string file = SubsampledJpeg(208, 176, false);
  const auto whole = db::DecodeImage(file, true);
  const auto source = db::OpenImage(file, true);
  for (const int reduction : {2, 4, 8}) {
    const int height = 208 / reduction, width = 176 / reduction;
    const auto means = db::ResizeImage(whole.view, height, width);
    const auto view = source->Read({1, 2, height - 1, width - 2}, reduction);
    double sum = 0;
    for (int y = 0; y < height - 1; ++y) {
      for (int x = 0; x < width - 2; ++x) {
        for (int c = 0; c < 3; ++c) {
          sum += std::abs(*view.At(y, x, c) - *means.view.At(y + 1, x + 2, c));
        }
      }
    }
    EXPECT_LT(sum / ((height - 1) * (width - 2) * 3), 5) << reduction;  // the noise alone is 4
  }
}

TEST(ImageCodec, OddFilesAreReadInPartsToo) {
  const std::string plain = EncodedPhotograph(3, ".jpg");
  for (const std::string& file :
       {WithOrientation(plain, 6, true), CmykJpeg(60, 45), EncodedPhotograph(1, ".jpg"),
        EncodedPhotograph(3, ".png"), plain + std::string(100, 'x')}) {
    const auto whole = db::DecodeImage(file, true);
    const auto source = db::OpenImage(file, true);
    ASSERT_EQ(source->height(), whole.view.height);
    const auto view = source->Read({20, 10, 20, 30}, 1);
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 30; ++x) {
        for (int c = 0; c < 3; ++c) {
          ASSERT_EQ(*view.At(y, x, c), *whole.view.At(20 + y, 10 + x, c));
        }
      }
    }
  }
}

TEST(ImageCodec, TruncatedFilesAreErrorsWhateverPartIsRead) {
  const std::string file = EncodedPhotograph(3, ".jpg");
  for (size_t length = 0; length < file.size() - 1; length += 7) {
    const std::string cut = file.substr(0, length);
    EXPECT_THROW(db::OpenImage(cut, true)->Read({0, 0, 8, 8}, 1), EnforceNotMet) << length;
  }
  // A thumbnail in the header has an end marker too, here far behind the middle of the file.
  const std::string thumbnail = std::string(20000, 'x') + "\xff\xd9";
  const std::string length = {static_cast<char>((thumbnail.size() + 2) >> 8),
                              static_cast<char>((thumbnail.size() + 2) & 255)};
  const std::string with_thumbnail =
      file.substr(0, 2) + "\xff\xe2" + length + thumbnail + file.substr(2);
  EXPECT_EQ(db::OpenImage(with_thumbnail, true)->Read({0, 0, 8, 8}, 1).height, 8);
  const std::string cut = with_thumbnail.substr(0, with_thumbnail.size() - 2);
  EXPECT_THROW(db::OpenImage(cut, true)->Read({0, 0, 8, 8}, 1), EnforceNotMet);
}

TEST(ImageCodec, TruncatedFilesAreErrors) {
  for (const std::string extension : {".jpg", ".png"}) {
    const std::string whole = EncodedPhotograph(3, extension);
    EXPECT_EQ(db::DecodeImage(whole, true).view.height, 60);
    for (size_t size = 0; size < whole.size() - 2; size += 1 + whole.size() / 50) {
      EXPECT_THROW(db::DecodeImage(std::string_view(whole).substr(0, size), true), EnforceNotMet)
          << extension << " of " << size << " of " << whole.size() << " bytes";
    }
  }
  const std::string jpeg = EncodedPhotograph(3, ".jpg");
  EXPECT_THROW(db::DecodeImage(std::string_view(jpeg).substr(0, jpeg.size() - 2), true),
               EnforceNotMet);
  EXPECT_THROW(db::DecodeImage("no image", true), EnforceNotMet);
}

TEST(ImageCodec, DamageInsideOfJpegIsAnError) {
  const std::string whole = EncodedPhotograph(3, ".jpg");
  const size_t data = whole.size() / 2;
  const auto replaced = [&](const std::string& part) {
    std::string damaged = whole;
    return damaged.replace(data, part.size(), part);
  };
  // An end marker, another marker, and a code that no table holds.
  for (const std::string& part : {std::string("\xff\xd9"), std::string("\xff\xd3"),
                                  std::string("\xff\0\xff\0\xff\0\xff\0\xff\0\xff\0", 12)}) {
    EXPECT_THROW(db::DecodeImage(replaced(part), true), EnforceNotMet);
    EXPECT_THROW(db::DecodeImage(replaced(part), false), EnforceNotMet);
  }
}

TEST(ImageCodec, PaddingAndBytesBehindTheEndAreNoDamage) {
  const std::string whole = EncodedPhotograph(3, ".jpg");
  const std::string padded = whole.substr(0, whole.size() - 2) + std::string(4, '\0') + "\xff\xd9";
  for (const std::string& file : {padded, whole + std::string(1000, 'x')}) {
    ExpectAsOpenCvDecodes(file, true);
  }
}

// As some cameras write them, before the tables and the frame.
TEST(ImageCodec, BytesBetweenHeadersAreNoDamage) {
  const std::string whole = EncodedPhotograph(3, ".jpg");
  for (const std::string& marker : {std::string("\xff\xdb"), std::string("\xff\xc0")}) {
    std::string file = whole;
    const size_t header = file.find(marker);
    ASSERT_NE(header, std::string::npos);
    file.insert(header, "12345");
    ExpectAsOpenCvDecodes(file, true);
  }
}

// Damage is an error or, where the decoder does not stumble, gives an image.
TEST(ImageCodec, NoDamageCrashes) {
  const std::string whole = EncodedPhotograph(3, ".jpg");
  RandomGenerator random(3);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    for (int k = 0; k < 4; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      EXPECT_GT(db::DecodeImage(damaged, true).view.height, 0);
    } catch (const EnforceNotMet&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace caffe2::testing
