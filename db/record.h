// The two kinds of image-database records, parsed in place.
//
// A training run parses millions of them, most of them alike: the parsers here read the wire
// format of the messages directly, copy nothing and check every length. They know the encodings
// that Caffe2 and Caffe write; for anything else they say so, and the caller uses protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2::db {

// A caffe.Datum. The views point into the record.
struct DatumView {
  int channels = 0, height = 0, width = 0;
  int label = 0;
  bool has_label = false;
  bool encoded = false;
  std::string_view data;          // uint8 in channel, row, column order, or an encoded file
  std::vector<float> float_data;  // in place of data, the same order
};

// One TensorProto of a TensorProtos. The views point into the record.
struct TensorView {
  static constexpr int kMaxDims = 8;
  int num_dims = 0;
  int64_t dims[kMaxDims] = {};
  TensorProto::DataType data_type = TensorProto::FLOAT;
  std::string_view byte_data;    // BYTE, UINT8
  std::string_view float_data;   // packed: 4 bytes each
  std::string_view int32_data;   // packed: varints
  std::string_view string_data;  // the only string
  bool has_string = false;
};

enum class ParseResult {
  kOk,
  kUnusual,  // well-formed so far, but with fields or encodings not handled here
  kMalformed,
};

// `view` is overwritten; its vectors keep their memory. A record without fields is malformed.
ParseResult ParseDatum(std::string_view record, DatumView* view);
// kOk if the record has exactly `count` tensors.
ParseResult ParseTensorProtos(std::string_view record, TensorView* views, int count);

// Reads packed varints; false if they are not exactly n int32.
bool UnpackInt32(std::string_view packed, int64_t n, int32_t* values);

// What a record is, by the types of its fields on the wire.
enum class RecordKind { kDatum, kTensorProtos, kUnknown };
RecordKind DetectRecordKind(std::string_view record);

}  // namespace caffe2::db
