// Read-only databases: records found in the files of other formats.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "db/db.h"
#include "db/source_info.h"

namespace caffe2::db {

// A numbered list of records. Not thread-safe.
class RecordList : public RecordIndex {
 public:
  // 0 <= i < NumRecords().
  virtual std::string Key(int64_t i) const = 0;
  // True if the keys ascend, so that a cursor can seek.
  virtual bool IsSorted() const = 0;
  virtual SourceInfo Info() const = 0;
};

// "00000042": the key of record 42 in a format that does not name its records.
std::string NumberKey(int64_t i);

// A database over a RecordList. The constructor throws IoError, with `db_type` and the path, unless
// the mode is READ.
class RecordListDB : public DB {
 public:
  RecordListDB(const std::string& db_type, const std::string& source, Mode mode);
  void Close() override {}
  std::unique_ptr<Cursor> NewCursor() override;
  std::unique_ptr<RecordIndex> NewIndex() override { return NewList(); }
  std::unique_ptr<Transaction> NewTransaction() override;

 protected:
  // A new list, which opens its own files.
  virtual std::unique_ptr<RecordList> NewList() const = 0;
  const std::string& source() const { return source_; }

 private:
  const std::string db_type_, source_;
};

}  // namespace caffe2::db
