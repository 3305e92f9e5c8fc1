// Files of records: minidb, LMDB, tar archives and IDX.
#include <memory>

#include "db/db.h"
#include "db/idx_file.h"
#include "db/lmdb_file.h"
#include "db/tar_archive.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {
namespace {

// A database that opens has the records that it counts.
void ReadAll(db::RecordIndex* records) {
  std::string key, value;
  for (int64_t i = 0; i < records->NumRecords(); ++i) records->Read(i, &key, &value);
}

}  // namespace

FUZZ_TARGET(Minidb, "minidb", 2000) {
  const FuzzFile file(bytes);
  const auto database = db::CreateDB("minidb", file.path(), db::READ);
  const auto records = database->NewIndex();
  ReadAll(records.get());
  int64_t count = 0;
  for (const auto cursor = database->NewCursor(); cursor->Valid(); cursor->Next()) ++count;
  CHECK_EQ(count, records->NumRecords());
}

FUZZ_TARGET(Lmdb, "lmdb", 2000) {
  const FuzzFile file(bytes);
  db::LmdbFile records(file.path());
  ReadAll(&records);
  for (int64_t i = 1; i < records.NumRecords(); ++i) CHECK(records.Key(i - 1) < records.Key(i));
  CHECK_EQ(records.LowerBound(""), 0);
}

FUZZ_TARGET(Idx, "idx", 2000) {
  const FuzzFile file(bytes);
  const db::IdxFile array = db::ReadIdxFile(file.path());
  int64_t size = 1;
  for (const int64_t dim : array.dims) size *= dim;
  CHECK_EQ(size, static_cast<int64_t>(array.data.size()));
}

FUZZ_TARGET(Tar, "tar", 2000) {
  const FuzzFile file(bytes);
  db::TarImages images(file.path());
  ReadAll(&images);
}

}  // namespace caffe2::testing
