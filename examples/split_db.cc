// Splits a database into several; record i goes to database i mod n.
#include <gflags/gflags.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "db/db.h"
#include "db/record_writer.h"

DEFINE_string(input_db, "", "path of the database to read (required)");
DEFINE_string(input_db_type, "", "type of all databases (required): lmdb, leveldb or minidb");
DEFINE_int32(splits, 0,
             "number of databases to make (required): <input_db>_split_0, <input_db>_split_1, ...");

namespace caffe2 {
namespace {

int Run() {
  CheckUsage(!FLAGS_input_db.empty(), "--input_db is needed");
  CheckUsage(FLAGS_splits > 0 && FLAGS_splits <= 1000, "--splits must be from 1 to 1000, found ",
             FLAGS_splits);
  const auto input = db::CreateDB(FLAGS_input_db_type, FLAGS_input_db, db::READ);
  const auto index = input->NewIndex();
  std::vector<std::unique_ptr<db::RecordWriter>> writers;
  for (int i = 0; i < FLAGS_splits; ++i) {
    writers.push_back(std::make_unique<db::RecordWriter>(FLAGS_input_db_type,
                                                         MakeString(FLAGS_input_db, "_split_", i)));
  }
  std::string key, value;
  for (int64_t i = 0; i < index->NumRecords(); ++i) {
    index->Read(i, &key, &value);
    writers[i % FLAGS_splits]->Add(key, value);
  }
  for (auto& writer : writers) writer->Finish();
  std::printf("%lld records in %d databases\n", static_cast<long long>(index->NumRecords()),
              FLAGS_splits);
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv,
                            "Splits a database into several; record i goes to database i mod n.",
                            caffe2::Run);
}
