#include "db/record_list.h"

#include <cstdio>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"

namespace caffe2::db {
namespace {

class RecordListCursor final : public Cursor {
 public:
  RecordListCursor(std::unique_ptr<RecordList> list, std::string source)
      : list_(std::move(list)), source_(std::move(source)) {
    SeekToFirst();
  }
  bool SupportsSeek() const override { return list_->IsSorted(); }
  void Seek(const std::string& key) override {
    CAFFE_ENFORCE(SupportsSeek(), "cannot seek in ", source_, ": its keys are not sorted");
    int64_t low = 0, high = list_->NumRecords();
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (list_->Key(middle) < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    MoveTo(low);
  }
  void SeekToFirst() override { MoveTo(0); }
  void Next() override { MoveTo(at_ + 1); }
  bool Valid() const override { return at_ < list_->NumRecords(); }
  std::string key() const override { return key_; }
  std::string value() const override { return value_; }

 private:
  void MoveTo(int64_t i) {
    at_ = i;
    if (Valid()) list_->Read(i, &key_, &value_);
  }

  const std::unique_ptr<RecordList> list_;
  const std::string source_;
  int64_t at_ = 0;
  std::string key_, value_;
};

}  // namespace

std::string NumberKey(int64_t i) {
  char key[24];
  std::snprintf(key, sizeof(key), "%08lld", static_cast<long long>(i));
  return key;
}

RecordListDB::RecordListDB(const std::string& db_type, const std::string& source, Mode mode)
    : db_type_(db_type), source_(source) {
  if (mode != READ) {
    ThrowIoError(ExitCode::kCannotWrite, "cannot write ", source, ": a database of db_type ",
                 db_type, " can only be read");
  }
}

std::unique_ptr<Cursor> RecordListDB::NewCursor() {
  return std::make_unique<RecordListCursor>(NewList(), source_);
}

std::unique_ptr<Transaction> RecordListDB::NewTransaction() {
  CAFFE_THROW("a database of db_type ", db_type_, " can only be read: ", source_);
}

}  // namespace caffe2::db
