#include "db/record_writer.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "caffe2/core/exit_code.h"
#include "caffe2/proto/caffe2.pb.h"
#include "caffe2/proto/caffe_datum.pb.h"
#include "caffe2/utils/temporary_file.h"

namespace caffe2::db {

namespace {
constexpr size_t kTransactionBytes = 16 << 20;
}  // namespace

std::string MakeDatum(int channels, int height, int width, std::string_view pixels, int label) {
  CAFFE_ENFORCE(static_cast<int64_t>(pixels.size()) == int64_t{channels} * height * width,
                "an image of ", channels, "x", height, "x", width, " must have ",
                int64_t{channels} * height * width, " bytes, found ", pixels.size());
  caffe::Datum datum;
  datum.set_channels(channels);
  datum.set_height(height);
  datum.set_width(width);
  datum.set_data(pixels.data(), pixels.size());
  datum.set_label(label);
  return datum.SerializeAsString();
}

std::string MakeEncodedDatum(std::string_view file, int label) {
  caffe::Datum datum;
  datum.set_data(file.data(), file.size());
  datum.set_label(label);
  datum.set_encoded(true);
  return datum.SerializeAsString();
}

std::string MakeTensorProtos(int dim0, int dim1, int dim2, std::string_view pixels, int label) {
  CAFFE_ENFORCE(static_cast<int64_t>(pixels.size()) == int64_t{dim0} * dim1 * dim2, "an image of ",
                dim0, "x", dim1, "x", dim2, " must have ", int64_t{dim0} * dim1 * dim2,
                " bytes, found ", pixels.size());
  TensorProtos protos;
  TensorProto* image = protos.add_protos();
  for (const int dim : {dim0, dim1, dim2}) image->add_dims(dim);
  image->set_data_type(TensorProto::BYTE);
  image->set_byte_data(pixels.data(), pixels.size());
  TensorProto* label_proto = protos.add_protos();
  label_proto->set_data_type(TensorProto::INT32);
  label_proto->add_int32_data(label);
  return protos.SerializeAsString();
}

void CheckNotMade(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  ThrowIoError(ExitCode::kCannotWrite, "cannot make the database ", path,
               ": another process has made it meanwhile");
}

void PublishDatabase(const std::string& temporary, const std::string& path) {
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (!error) return;
  ThrowIoError(ExitCode::kCannotWrite, "cannot make the database ", path, ": ", error.message());
}

RecordWriter::RecordWriter(const std::string& db_type, const std::string& path, bool overwrite_file)
    : path_(path), temporary_(TemporaryPath(path)) {
  std::error_code error;
  replaces_ = overwrite_file && !std::filesystem::is_directory(path, error);
  if (std::filesystem::exists(path, error) && !replaces_) {
    ThrowIoError(ExitCode::kCannotWrite, "cannot make the database ", path,
                 ": the path exists already");
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent, error)) {
    ThrowIoError(ExitCode::kCannotWrite, "cannot make the database ", path, ": there is no folder ",
                 parent.string());
  }
  // Not NEW: minidb writes a new database under yet another name.
  db_ = CreateDB(db_type, temporary_, WRITE);
  transaction_ = db_->NewTransaction();
}

RecordWriter::~RecordWriter() {
  transaction_.reset();
  db_.reset();
  std::error_code error;  // after Finish() there is nothing to remove
  std::filesystem::remove_all(temporary_, error);
}

void RecordWriter::Add(const std::string& value) {
  char key[32];
  std::snprintf(key, sizeof(key), "%08lld", static_cast<long long>(num_records_));
  Add(key, value);
}

void RecordWriter::Add(const std::string& key, const std::string& value) {
  transaction_->Put(key, value);
  ++num_records_;
  pending_bytes_ += key.size() + value.size();
  if (pending_bytes_ < kTransactionBytes) return;
  transaction_->Commit();
  pending_bytes_ = 0;
}

void RecordWriter::Finish() {
  transaction_->Commit();
  transaction_.reset();
  db_->Close();
  if (!replaces_) CheckNotMade(path_);
  PublishDatabase(temporary_, path_);
}

}  // namespace caffe2::db
