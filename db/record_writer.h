// Writes new databases of image records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "db/db.h"

namespace caffe2::db {

// A serialized caffe.Datum of raw pixels, in channel, row, column order. Throws EnforceNotMet
// unless there are channels * height * width bytes.
std::string MakeDatum(int channels, int height, int width, std::string_view pixels, int label);
// A serialized caffe.Datum of an image file (JPEG, PNG, ...).
std::string MakeEncodedDatum(std::string_view file, int label);
// A serialized TensorProtos of raw pixels (BYTE with these three dims) and an INT32 label without
// dims, like the records of Caffe2's database makers. Throws EnforceNotMet unless there are
// dim0 * dim1 * dim2 bytes.
std::string MakeTensorProtos(int dim0, int dim1, int dim2, std::string_view pixels, int label);

// Throws IoError if `path` exists: another process has made it meanwhile.
void CheckNotMade(const std::string& path);
// Renames a complete database to `path`; replaces a file there. Throws IoError.
void PublishDatabase(const std::string& temporary, const std::string& path);

// Writes a new database under a temporary name (temporary_file.h). Finish() renames it to its path.
// It throws instead if another process has made a database there meanwhile. The destructor deletes
// an unfinished database. Not thread-safe. All members throw IoError.
class RecordWriter {
 public:
  // Throws like CreateDB, and IoError if `path` exists, unless it is a file and `overwrite_file` is
  // set.
  RecordWriter(const std::string& db_type, const std::string& path, bool overwrite_file = false);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // Adds the record under the next 8-digit key: 00000000, 00000001, ...
  void Add(const std::string& value);
  void Add(const std::string& key, const std::string& value);
  int64_t num_records() const { return num_records_; }
  void Finish();

 private:
  std::string path_, temporary_;
  bool replaces_ = false;  // an existing file at path_
  std::unique_ptr<DB> db_;
  std::unique_ptr<Transaction> transaction_;
  int64_t num_records_ = 0;
  size_t pending_bytes_ = 0;  // added since the last commit
};

}  // namespace caffe2::db
