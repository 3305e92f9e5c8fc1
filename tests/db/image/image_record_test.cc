#include "db/image/image_record.h"

#include <gtest/gtest.h>

#include <string>

#include "caffe2/core/logging.h"
#include "caffe2/proto/caffe2.pb.h"
#include "db/record_writer.h"

namespace caffe2::db {
namespace {

// 2 x 4 pixels of 3 channels, planar: value 100 * c + 10 * y + x.
std::string PlanarPixels() {
  std::string pixels;
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 4; ++x) pixels += static_cast<char>(100 * c + 10 * y + x);
    }
  }
  return pixels;
}

void ExpectPixels(const ImageView<uint8_t>& view) {
  ASSERT_EQ(view.height, 2);
  ASSERT_EQ(view.width, 4);
  ASSERT_EQ(view.channels, 3);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 4; ++x) EXPECT_EQ(*view.At(y, x, c), 100 * c + 10 * y + x);
    }
  }
}

TEST(ImageRecordTest, Datum) {
  const ImageRecord record = DecodeImageRecord(MakeDatum(3, 2, 4, PlanarPixels(), 7));
  EXPECT_EQ(record.kind, "Datum, bytes");
  EXPECT_TRUE(record.has_label);
  EXPECT_EQ(record.label, 7);
  ExpectPixels(record.image.view);
}

TEST(ImageRecordTest, TensorProtosInBothOrders) {
  ExpectPixels(DecodeImageRecord(MakeTensorProtos(3, 2, 4, PlanarPixels(), 1)).image.view);
  std::string interleaved;
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (int c = 0; c < 3; ++c) interleaved += static_cast<char>(100 * c + 10 * y + x);
    }
  }
  const ImageRecord record = DecodeImageRecord(MakeTensorProtos(2, 5, 3, interleaved, 4));
  EXPECT_EQ(record.kind, "TensorProtos, bytes");
  EXPECT_EQ(record.label, 4);
  ASSERT_EQ(record.image.view.width, 5);
  EXPECT_EQ(*record.image.view.At(1, 4, 2), static_cast<uint8_t>(214));
}

TEST(ImageRecordTest, ImageFile) {
  const std::string pixels = PlanarPixels();
  const auto* bytes = reinterpret_cast<const uint8_t*>(pixels.data());
  const std::string file = EncodeImage(ImageView<uint8_t>::Planar(bytes, 2, 4, 3), ".png");
  const ImageRecord record = DecodeImageRecord(MakeEncodedDatum(file, 3));
  EXPECT_EQ(record.kind, "Datum, image file");
  ExpectPixels(record.image.view);
}

TEST(ImageRecordTest, FloatsHaveASizeOnly) {
  TensorProtos protos;
  TensorProto* image = protos.add_protos();
  for (const int dim : {4, 5, 1}) image->add_dims(dim);
  for (int i = 0; i < 20; ++i) image->add_float_data(0.5f);
  const ImageRecord record = DecodeImageRecord(protos.SerializeAsString());
  EXPECT_EQ(record.kind, "TensorProtos, floats");
  EXPECT_FALSE(record.has_label);
  EXPECT_EQ(record.image.view.height, 4);
  EXPECT_EQ(record.image.view.data, nullptr);
}

TEST(ImageRecordTest, DamagedRecordsAreRefused) {
  EXPECT_THROW(DecodeImageRecord("neither one nor the other"), EnforceNotMet);
  EXPECT_THROW(DecodeImageRecord(""), EnforceNotMet);
  EXPECT_THROW(DecodeImageRecord(MakeEncodedDatum("no image", 1)), EnforceNotMet);
  TensorProtos protos;
  TensorProto* image = protos.add_protos();
  image->set_data_type(TensorProto::BYTE);
  for (const int dim : {4, 5, 3}) image->add_dims(dim);
  image->set_byte_data("too short");
  EXPECT_THROW(DecodeImageRecord(protos.SerializeAsString()), EnforceNotMet);
}

TEST(ImageRecordTest, RescaleKeepsTheRatioUnlessItWarps) {
  const std::string pixels(40 * 20, 'a');
  const auto* bytes = reinterpret_cast<const uint8_t*>(pixels.data());
  const Image<uint8_t> image{ImageView<uint8_t>::Interleaved(bytes, 40, 20, 1), nullptr};
  const auto sides = [&](int scale, bool warp) {
    const auto view = Rescale(image, scale, warp).view;
    return std::make_pair(view.height, view.width);
  };
  EXPECT_EQ(sides(10, false), std::make_pair(20, 10));
  EXPECT_EQ(sides(10, true), std::make_pair(10, 10));
  EXPECT_EQ(sides(0, false), std::make_pair(40, 20));
}

}  // namespace
}  // namespace caffe2::db
