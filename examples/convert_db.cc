// Copies a database to another type.
#include <gflags/gflags.h>

#include <cstdio>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "db/db.h"
#include "db/record_writer.h"

DEFINE_string(input_db, "", "path of the database to read (required)");
DEFINE_string(input_db_type, "auto",
              "type of --input_db: lmdb, leveldb or minidb; auto looks at its files");
DEFINE_string(output_db, "", "path of the database to make (required)");
DEFINE_string(output_db_type, "", "type of --output_db (required): lmdb, leveldb or minidb");

namespace caffe2 {
namespace {

int Run() {
  CheckUsage(!FLAGS_input_db.empty() && !FLAGS_output_db.empty(),
             "--input_db and --output_db are needed");
  CheckUsage(db::IsWritableDBType(FLAGS_output_db_type), "--output_db_type ",
             FLAGS_output_db_type.empty() ? "is needed" : "is " + FLAGS_output_db_type,
             ": it must be lmdb, leveldb or minidb");
  const auto input = db::CreateDB(FLAGS_input_db_type, FLAGS_input_db, db::READ);
  const auto index = input->NewIndex();
  db::RecordWriter writer(FLAGS_output_db_type, FLAGS_output_db);
  std::string key, value;
  for (int64_t i = 0; i < index->NumRecords(); ++i) {
    index->Read(i, &key, &value);
    writer.Add(key, value);
  }
  writer.Finish();
  std::printf("%lld records in %s\n", static_cast<long long>(writer.num_records()),
              FLAGS_output_db.c_str());
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Copies a database to another type.", caffe2::Run);
}
