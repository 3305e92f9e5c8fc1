// Parses the two kinds of records in image databases, in place.
//
// A training run parses millions of records, most of them alike. So these parsers read protobuf's
// wire format directly, copy nothing and check every length. They know the encodings that Caffe2
// and Caffe write; for any other they return kUnusual, and the caller parses with protobuf.
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
  std::string_view data;          // uint8 in channel, row, column order, or an image file
  std::vector<float> float_data;  // used instead of data, in the same order
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
  kUnusual,  // well-formed so far, with fields or encodings that are not handled here
  kMalformed,
};

// Overwrites `view`; its vector keeps its memory. A record without fields is malformed.
ParseResult ParseDatum(std::string_view record, DatumView* view);
// Writes views[0 .. count). Returns kOk only if the record has exactly `count` tensors.
ParseResult ParseTensorProtos(std::string_view record, TensorView* views, int count);

// Reads n packed varints into values[0 .. n). Returns false unless `packed` holds exactly n.
bool UnpackInt32(std::string_view packed, int64_t n, int32_t* values);

// Recognizes the kind of a record by the wire types of its fields.
enum class RecordKind { kDatum, kTensorProtos, kUnknown };
RecordKind DetectRecordKind(std::string_view record);

}  // namespace caffe2::db
