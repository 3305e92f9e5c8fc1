// minidb: Caffe2's plain file of records in order of insertion. Each record is two int32 (length
// of key and of value, native little-endian), key, value.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/temporary_file.h"
#include "caffe2/utils/write_count.h"
#include "db/db.h"
#include "db/random_access_file.h"

namespace caffe2::db {
namespace {

struct Place {
  uint64_t offset;  // of the key
  int32_t key_bytes;
  int32_t value_bytes;

  uint64_t end() const {
    return offset + static_cast<uint64_t>(key_bytes) + static_cast<uint64_t>(value_bytes);
  }
};

// The record that begins at `offset`, checked against the size of the file.
Place ReadPlace(RandomAccessFile* file, uint64_t offset) {
  int32_t lengths[2];
  if (offset == 0 && file->size() < sizeof(lengths)) {
    ThrowIoError(ExitCode::kBadData, file->path(),
                 " is not a minidb database or is damaged: it has only ", file->size(), " bytes");
  }
  file->ReadAt(offset, lengths, sizeof(lengths));
  const Place place{offset + sizeof(lengths), lengths[0], lengths[1]};
  if (place.key_bytes <= 0 || place.value_bytes < 0) {
    ThrowIoError(ExitCode::kBadData, file->path(),
                 " is not a minidb database or is damaged: record of ", lengths[0], " + ",
                 lengths[1], " bytes at byte ", offset);
  }
  if (place.end() > file->size()) {
    ThrowIoError(ExitCode::kBadData, "minidb database ", file->path(),
                 " is truncated or damaged: ", file->size(), " bytes where the record at byte ",
                 offset, " ends at byte ", place.end());
  }
  return place;
}

void ReadRecord(RandomAccessFile* file, const Place& place, std::string* key, std::string* value) {
  key->resize(place.key_bytes);
  file->ReadAt(place.offset, key->data(), key->size());
  value->resize(place.value_bytes);
  file->ReadAt(place.offset + key->size(), value->data(), value->size());
}

class MiniDBCursor final : public Cursor {
 public:
  explicit MiniDBCursor(const std::string& path) : file_(path) { SeekToFirst(); }
  void Seek(const std::string& /*key*/) override {
    CAFFE_THROW("cannot seek in minidb database ", file_.path(), ": its keys are not sorted");
  }
  void SeekToFirst() override { MoveTo(0); }
  void Next() override { MoveTo(end_); }
  bool Valid() const override { return valid_; }
  std::string key() const override { return key_; }
  std::string value() const override { return value_; }

 private:
  void MoveTo(uint64_t offset) {
    valid_ = offset < file_.size();
    if (!valid_) return;
    const Place place = ReadPlace(&file_, offset);
    ReadRecord(&file_, place, &key_, &value_);
    end_ = place.end();
  }

  RandomAccessFile file_;
  bool valid_ = false;
  uint64_t end_ = 0;
  std::string key_, value_;
};

class MiniDBIndex final : public RecordIndex {
 public:
  explicit MiniDBIndex(const std::string& path) : file_(path) {
    for (uint64_t offset = 0; offset < file_.size(); offset = places_.back().end()) {
      places_.push_back(ReadPlace(&file_, offset));
    }
  }
  int64_t NumRecords() const override { return static_cast<int64_t>(places_.size()); }
  void Read(int64_t i, std::string* key, std::string* value) override {
    ReadRecord(&file_, places_[i], key, value);
  }

 private:
  RandomAccessFile file_;
  std::vector<Place> places_;
};

// Appends to a file. A new file is written under a temporary name; Publish() syncs and renames it,
// so that an incomplete database never has the final name.
class MiniDBWriter {
 public:
  MiniDBWriter(const std::string& path, Mode mode) : path_(path), temporary_(path) {
    constexpr int kPermissions = 0664;
    if (mode == NEW) {
      temporary_ = TemporaryPath(path);
      fd_ = CreateNewFile(temporary_, kPermissions);
    } else {
      fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, kPermissions);
    }
    if (fd_ < 0) Throw("create");
  }
  // Deletes a new database if Publish() was not called.
  ~MiniDBWriter() {
    if (fd_ < 0) return;
    close(fd_);
    if (temporary_ != path_) unlink(temporary_.c_str());
  }
  MiniDBWriter(const MiniDBWriter&) = delete;
  MiniDBWriter& operator=(const MiniDBWriter&) = delete;

  void Write(const std::string& bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = write(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) Throw("write");
      done += static_cast<size_t>(n);
      CountWrite();
    }
  }

  void Publish() {
    if (fsync(fd_) != 0) Throw("sync");
    CountWrite();
    const int closed = close(fd_);
    fd_ = -1;
    if (closed != 0 || (temporary_ != path_ && rename(temporary_.c_str(), path_.c_str()) != 0)) {
      const int error = errno;
      if (temporary_ != path_) unlink(temporary_.c_str());
      errno = error;
      Throw("finish");
    }
    SyncDirectory();
  }

 private:
  [[noreturn]] void Throw(const char* what) const {
    ThrowIoError(ExitCode::kCannotWrite, "cannot ", what, " minidb database ",
                 WithoutTemporaryNames(path_), ": ", ErrnoText(errno));
  }
  // Makes the name durable. Some file systems refuse; the contents of the file are safe all the
  // same.
  void SyncDirectory() const {
    std::string parent = std::filesystem::path(path_).parent_path().string();
    const int fd = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
  }

  std::string path_, temporary_;
  int fd_ = -1;
};

class MiniDBTransaction final : public Transaction {
 public:
  explicit MiniDBTransaction(MiniDBWriter* writer) : writer_(writer) {}

  void Put(const std::string& key, const std::string& value) override {
    constexpr size_t kMax = std::numeric_limits<int32_t>::max();
    CAFFE_ENFORCE(!key.empty() && key.size() <= kMax && value.size() <= kMax,
                  "minidb cannot hold a record with a key of ", key.size(), " and a value of ",
                  value.size(), " bytes");
    const int32_t lengths[2] = {static_cast<int32_t>(key.size()),
                                static_cast<int32_t>(value.size())};
    pending_.append(reinterpret_cast<const char*>(lengths), sizeof(lengths));
    pending_ += key;
    pending_ += value;
  }

  void Commit() override {
    writer_->Write(pending_);
    pending_.clear();
  }

 private:
  MiniDBWriter* writer_;
  std::string pending_;
};

class MiniDB final : public DB {
 public:
  MiniDB(const std::string& source, Mode mode) : source_(source) {
    if (mode != READ) {
      writer_ = std::make_unique<MiniDBWriter>(source, mode);
      return;
    }
    std::error_code error;
    if (std::filesystem::is_regular_file(source, error)) return;
    const std::string guess = GuessDBType(source);
    ThrowIoError(ExitCode::kNoInput, "there is no minidb database at ", source,
                 guess.empty() ? "" : "; it looks like db_type " + guess);
  }

  void Close() override {
    if (!writer_) return;
    writer_->Publish();
    writer_.reset();
  }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<MiniDBCursor>(source_); }
  std::unique_ptr<RecordIndex> NewIndex() override {
    return std::make_unique<MiniDBIndex>(source_);
  }
  std::unique_ptr<Transaction> NewTransaction() override {
    CAFFE_ENFORCE(writer_, "minidb database ", source_, " is not open for writing");
    return std::make_unique<MiniDBTransaction>(writer_.get());
  }

 private:
  std::string source_;
  std::unique_ptr<MiniDBWriter> writer_;
};

REGISTER_CAFFE2_DB(MiniDB, MiniDB);
REGISTER_CAFFE2_DB(minidb, MiniDB);

}  // namespace
}  // namespace caffe2::db
