// Makes whole databases of image records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "db/db.h"

namespace caffe2::db {

// A serialized caffe.Datum of raw pixels: channels * height * width bytes in that order.
std::string MakeDatum(int channels, int height, int width, std::string_view pixels, int label);
// A serialized TensorProtos of raw pixels (BYTE with these three dims) and an INT32 label without
// dims, as Caffe2's own database makers write it.
std::string MakeTensorProtos(int dim0, int dim1, int dim2, std::string_view pixels, int label);

// Writes a new database that appears at its path with Finish(), whole: until then it has a
// temporary name beside it (temporary_file.h), and goes if the writer goes. Throws IoError; also if
// the path is taken, but for a file if `overwrite_file`.
class RecordWriter {
 public:
  RecordWriter(const std::string& db_type, const std::string& path, bool overwrite_file = false);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // Under the next 8-digit key: 00000000, 00000001, ...
  void Add(const std::string& value);
  void Add(const std::string& key, const std::string& value);
  int64_t num_records() const { return num_records_; }
  void Finish();

 private:
  std::string path_, temporary_;
  std::unique_ptr<DB> db_;
  std::unique_ptr<Transaction> transaction_;
  int64_t num_records_ = 0;
  size_t pending_bytes_ = 0;  // not yet committed
};

}  // namespace caffe2::db
