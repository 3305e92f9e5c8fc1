// Splits a database into several; record i goes to database i mod n.
#include <gflags/gflags.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "db/data_set.h"
#include "db/db.h"
#include "db/record_writer.h"

DEFINE_string(input_db, "", "path of the database to read (required)");
DEFINE_string(input_db_type, "auto",
              "type of all databases: lmdb, leveldb or minidb; auto looks at the files");
DEFINE_int32(splits, 0,
             "number of databases to make (required): <input_db>_split_0, <input_db>_split_1, ...");

namespace caffe2 {
namespace {

// The type of the input, which the parts have, too.
std::string TypeOfAll() {
  const std::string guess =
      FLAGS_input_db_type == "auto" ? db::GuessDBType(FLAGS_input_db) : FLAGS_input_db_type;
  CheckUsage(
      !db::IsDataSetType(guess), "--input_db ", FLAGS_input_db, " is a data set (", guess,
      "), which split_db cannot write: make a database of it first, with doppio data prepare");
  return guess.empty() ? FLAGS_input_db_type : guess;
}

// The beginning of the paths of the parts. Without the slashes at the end of --input_db, so that
// the parts lie next to it, not in it.
std::string PathPrefix() {
  const size_t end = FLAGS_input_db.find_last_not_of('/');
  return end == std::string::npos ? FLAGS_input_db : FLAGS_input_db.substr(0, end + 1);
}

int Run() {
  CheckUsage(!FLAGS_input_db.empty(), "--input_db is needed");
  CheckUsage(FLAGS_splits > 0 && FLAGS_splits <= 1000, "--splits must be from 1 to 1000, found ",
             FLAGS_splits);
  const std::string type = TypeOfAll();
  const auto input = db::CreateDB(type, FLAGS_input_db, db::READ);
  const auto index = input->NewIndex();
  std::vector<std::unique_ptr<db::RecordWriter>> writers;
  for (int i = 0; i < FLAGS_splits; ++i) {
    writers.push_back(
        std::make_unique<db::RecordWriter>(type, MakeString(PathPrefix(), "_split_", i)));
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
