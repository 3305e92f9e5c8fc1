#include "db/record.h"

#include <cstring>

#include "caffe2/proto/caffe_datum.pb.h"

namespace caffe2::db {
namespace {

// Walks the fields of a protobuf message.
class WireReader {
 public:
  enum Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  explicit WireReader(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  // Moves to the next field. Returns false at the end, and, with !ok(), if the field is malformed.
  bool Next() {
    if (at_ == end_ || !ok_) return false;
    uint64_t tag;
    if (!ReadVarint(&tag) || tag >> 32 || tag >> 3 == 0) return Fail();
    field_ = static_cast<int>(tag >> 3);
    type_ = static_cast<int>(tag & 7);
    switch (type_) {
      case kVarint:
        return ReadVarint(&value_) || Fail();
      case kFixed64:
        return Take(8);
      case kFixed32:
        return Take(4);
      case kBytes: {
        uint64_t n;
        return ReadVarint(&n) && n <= static_cast<uint64_t>(end_ - at_) ? Take(n) : Fail();
      }
      default:
        return Fail();
    }
  }

  bool ok() const { return ok_; }
  int field() const { return field_; }
  int type() const { return type_; }
  bool Is(int field, Type type) const { return field_ == field && type_ == type; }
  uint64_t value() const { return value_; }
  std::string_view bytes() const { return bytes_; }

  bool ReadVarint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool AtEnd() const { return at_ == end_; }

 private:
  bool Fail() {
    ok_ = false;
    return false;
  }
  bool Take(uint64_t n) {
    if (n > static_cast<uint64_t>(end_ - at_)) return Fail();
    bytes_ = {at_, static_cast<size_t>(n)};
    at_ += n;
    return true;
  }

  const char *at_, *end_;
  bool ok_ = true;
  int field_ = 0, type_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
};

// Field numbers on the wire.
enum DatumField {
  kChannels = 1,
  kHeight = 2,
  kWidth = 3,
  kData = 4,
  kLabel = 5,
  kFloatData = 6,
  kEncoded = 7
};
enum TensorField {
  kDims = 1,
  kDataType = 2,
  kTensorFloatData = 3,
  kInt32Data = 4,
  kByteData = 5,
  kStringData = 6,
  kName = 7
};

ParseResult ParseTensor(std::string_view message, TensorView* view) {
  view->num_dims = 0;
  view->data_type = TensorProto::FLOAT;
  view->byte_data = view->float_data = view->int32_data = view->string_data = {};
  view->has_string = false;
  WireReader reader(message);
  while (reader.Next()) {
    if (reader.Is(kDims, WireReader::kVarint)) {
      if (view->num_dims == TensorView::kMaxDims) return ParseResult::kUnusual;
      view->dims[view->num_dims++] = static_cast<int64_t>(reader.value());
    } else if (reader.Is(kDataType, WireReader::kVarint) &&
               TensorProto::DataType_IsValid(static_cast<int>(reader.value()))) {
      view->data_type = static_cast<TensorProto::DataType>(reader.value());
    } else if (reader.Is(kTensorFloatData, WireReader::kBytes) && view->float_data.empty()) {
      view->float_data = reader.bytes();
    } else if (reader.Is(kInt32Data, WireReader::kBytes) && view->int32_data.empty()) {
      view->int32_data = reader.bytes();
    } else if (reader.Is(kByteData, WireReader::kBytes)) {
      view->byte_data = reader.bytes();
    } else if (reader.Is(kStringData, WireReader::kBytes) && !view->has_string) {
      view->string_data = reader.bytes();
      view->has_string = true;
    } else if (!reader.Is(kName, WireReader::kBytes)) {
      return ParseResult::kUnusual;
    }
  }
  return reader.ok() ? ParseResult::kOk : ParseResult::kMalformed;
}

// float_data is rare, so protobuf parses it.
ParseResult ParseFloatDatum(std::string_view record, DatumView* view) {
  caffe::Datum datum;
  if (!datum.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
    return ParseResult::kMalformed;
  }
  view->float_data.assign(datum.float_data().begin(), datum.float_data().end());
  return ParseResult::kOk;
}

}  // namespace

ParseResult ParseDatum(std::string_view record, DatumView* view) {
  view->channels = view->height = view->width = view->label = 0;
  view->has_label = view->encoded = false;
  view->data = {};
  view->float_data.clear();
  bool has_floats = false;
  int known_fields = 0;
  WireReader reader(record);
  for (; reader.Next(); ++known_fields) {
    const int number = static_cast<int>(reader.value());
    if (reader.Is(kChannels, WireReader::kVarint)) {
      view->channels = number;
    } else if (reader.Is(kHeight, WireReader::kVarint)) {
      view->height = number;
    } else if (reader.Is(kWidth, WireReader::kVarint)) {
      view->width = number;
    } else if (reader.Is(kData, WireReader::kBytes)) {
      view->data = reader.bytes();
    } else if (reader.Is(kLabel, WireReader::kVarint)) {
      view->label = number;
      view->has_label = true;
    } else if (reader.field() == kFloatData) {
      has_floats = true;
    } else if (reader.Is(kEncoded, WireReader::kVarint)) {
      view->encoded = reader.value() != 0;
    } else if (reader.field() <= kEncoded) {
      return ParseResult::kMalformed;  // a known field of another type: not a Datum
    }
  }
  if (!reader.ok() || known_fields == 0) return ParseResult::kMalformed;
  return has_floats ? ParseFloatDatum(record, view) : ParseResult::kOk;
}

ParseResult ParseTensorProtos(std::string_view record, TensorView* views, int count) {
  int found = 0;
  WireReader reader(record);
  while (reader.Next()) {
    if (!reader.Is(1, WireReader::kBytes) || found == count) return ParseResult::kUnusual;
    const ParseResult result = ParseTensor(reader.bytes(), &views[found++]);
    if (result != ParseResult::kOk) return result;
  }
  if (!reader.ok()) return ParseResult::kMalformed;
  return found == count ? ParseResult::kOk : ParseResult::kUnusual;
}

bool UnpackInt32(std::string_view packed, int64_t n, int32_t* values) {
  WireReader reader(packed);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t value;
    if (!reader.ReadVarint(&value)) return false;
    values[i] = static_cast<int32_t>(value);
  }
  return reader.AtEnd();
}

RecordKind DetectRecordKind(std::string_view record) {
  DatumView datum;
  if (ParseDatum(record, &datum) == ParseResult::kOk) return RecordKind::kDatum;
  TensorProtos protos;
  const bool parsed = protos.ParseFromArray(record.data(), static_cast<int>(record.size()));
  return parsed && protos.protos_size() > 0 ? RecordKind::kTensorProtos : RecordKind::kUnknown;
}

}  // namespace caffe2::db
