#include "db/image/image_record.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "caffe2/core/logging.h"
#include "caffe2/proto/caffe2.pb.h"
#include "db/record.h"

namespace caffe2::db {
namespace {

struct Shape {
  int64_t height = 0, width = 0, channels = 0;
  bool planar = false;  // channels first
};

bool IsChannels(int64_t n) { return n == 1 || n == 3; }

void CheckShape(const Shape& shape, int64_t values) {
  constexpr int64_t kMaxSide = 1 << 16;
  for (const int64_t side : {shape.height, shape.width, shape.channels}) {
    CAFFE_ENFORCE(side > 0 && side <= kMaxSide,
                  "the sides and channels of an image must be from 1 to ", kMaxSide, ", found ",
                  shape.height, "x", shape.width, " with ", shape.channels, " channels");
  }
  CAFFE_ENFORCE(values == shape.height * shape.width * shape.channels, "an image of ", shape.height,
                "x", shape.width, " with ", shape.channels, " channels must have ",
                shape.height * shape.width * shape.channels, " values, found ", values);
}

// Without pixels.
Image<uint8_t> OnlySize(const Shape& shape) {
  Image<uint8_t> image;
  image.view.height = static_cast<int>(shape.height);
  image.view.width = static_cast<int>(shape.width);
  image.view.channels = static_cast<int>(shape.channels);
  return image;
}

Image<uint8_t> CopyPixels(std::string_view bytes, const Shape& shape) {
  const auto copy = std::make_shared<std::string>(bytes);
  const auto* data = reinterpret_cast<const uint8_t*>(copy->data());
  const int height = static_cast<int>(shape.height), width = static_cast<int>(shape.width);
  const int channels = static_cast<int>(shape.channels);
  using View = ImageView<uint8_t>;
  return {shape.planar ? View::Planar(data, height, width, channels)
                       : View::Interleaved(data, height, width, channels),
          copy};
}

ImageRecord FromDatum(const DatumView& datum, bool color) {
  ImageRecord record;
  record.has_label = datum.has_label;
  record.label = datum.label;
  if (datum.encoded) {
    record.kind = "Datum, image file";
    record.image = DecodeImage(datum.data, color);
    return record;
  }
  const Shape shape{datum.height, datum.width, datum.channels, /*planar=*/true};
  const bool floats = !datum.float_data.empty();
  record.kind = floats ? "Datum, floats" : "Datum, bytes";
  CheckShape(shape, static_cast<int64_t>(floats ? datum.float_data.size() : datum.data.size()));
  record.image = floats ? OnlySize(shape) : CopyPixels(datum.data, shape);
  return record;
}

Shape ShapeOf(const TensorProto& proto) {
  const int n = proto.dims_size();
  CAFFE_ENFORCE(n == 2 || n == 3, "an image must have 2 or 3 dims, found ", n);
  if (n == 2) return {proto.dims(0), proto.dims(1), 1, false};
  if (!IsChannels(proto.dims(2)) && IsChannels(proto.dims(0))) {
    return {proto.dims(1), proto.dims(2), proto.dims(0), true};
  }
  return {proto.dims(0), proto.dims(1), proto.dims(2), false};
}

ImageRecord FromTensorProtos(const TensorProtos& protos, bool color) {
  const TensorProto& image = protos.protos(0);
  ImageRecord record;
  if (protos.protos_size() > 1) {
    const TensorProto& label = protos.protos(1);
    record.has_label = label.int32_data_size() > 0 || label.int64_data_size() > 0;
    if (label.int32_data_size() > 0)
      record.label = label.int32_data(0);
    else if (label.int64_data_size() > 0)
      record.label = label.int64_data(0);
  }
  switch (image.data_type()) {
    case TensorProto::STRING:
      CAFFE_ENFORCE(image.string_data_size() == 1, "an encoded image must be one string, found ",
                    image.string_data_size(), " strings");
      record.kind = "TensorProtos, image file";
      record.image = DecodeImage(image.string_data(0), color);
      break;
    case TensorProto::BYTE:
    case TensorProto::UINT8:
      record.kind = "TensorProtos, bytes";
      CheckShape(ShapeOf(image), static_cast<int64_t>(image.byte_data().size()));
      record.image = CopyPixels(image.byte_data(), ShapeOf(image));
      break;
    case TensorProto::FLOAT:
      record.kind = "TensorProtos, floats";
      CheckShape(ShapeOf(image), image.float_data_size());
      record.image = OnlySize(ShapeOf(image));
      break;
    default:
      CAFFE_THROW("an image must be STRING, BYTE or FLOAT, found ",
                  TensorProto::DataType_Name(image.data_type()));
  }
  return record;
}

}  // namespace

ImageRecord DecodeImageRecord(std::string_view record, bool color) {
  DatumView datum;
  if (ParseDatum(record, &datum) == ParseResult::kOk) return FromDatum(datum, color);
  TensorProtos protos;
  const bool fits = record.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  CAFFE_ENFORCE(fits && protos.ParseFromArray(record.data(), static_cast<int>(record.size())) &&
                    protos.protos_size() > 0,
                "a record of ", record.size(), " bytes is neither a Datum nor a TensorProtos");
  return FromTensorProtos(protos, color);
}

Image<uint8_t> Rescale(Image<uint8_t> image, int scale, bool warp) {
  if (scale == 0) return image;
  const int shorter = std::min(image.view.height, image.view.width);
  const auto side = [&](int old) {
    return warp ? scale : static_cast<int>(int64_t{old} * scale / shorter);
  };
  return ResizeImage(image.view, side(image.view.height), side(image.view.width));
}

}  // namespace caffe2::db
