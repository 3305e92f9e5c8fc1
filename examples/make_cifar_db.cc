// Makes the training and test databases of CIFAR-10 or CIFAR-100 from their binary files.
#include <gflags/gflags.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "db/data_set.h"
#include "db/random_access_file.h"
#include "db/record_writer.h"

DEFINE_string(input_folder, "", "folder of the binary files (required)");
DEFINE_string(output_train_db_name, "", "path of the training database to make");
DEFINE_string(output_test_db_name, "", "path of the test database to make");
DEFINE_string(db, "lmdb", "type of the databases: lmdb, leveldb or minidb");
DEFINE_bool(is_cifar100, false, "the files are from CIFAR-100; the fine labels are used");
DEFINE_string(format, "datum",
              "type of records: datum (Caffe, for ImageInput) or tensorprotos (Caffe2, 3x32x32)");

namespace caffe2 {
namespace {

constexpr int kSide = 32;
constexpr int kImageBytes = 3 * kSide * kSide;

// The files <prefix>*.bin of the folder, sorted by name.
std::vector<std::string> FilesOf(const std::string& prefix) {
  std::vector<std::string> files = db::FilesOf(FLAGS_input_folder, prefix, ".bin");
  if (files.empty()) {
    ThrowIoError(ExitCode::kNoInput, "there is no ", prefix, "*.bin in ", FLAGS_input_folder);
  }
  return files;
}

void Convert(const std::string& prefix, const std::string& output) {
  // CIFAR-100 has a coarse label before the fine one.
  const int label_bytes = FLAGS_is_cifar100 ? 2 : 1;
  db::RecordWriter writer(FLAGS_db, output);
  for (const std::string& path : FilesOf(prefix)) {
    db::RandomAccessFile file(path);
    std::vector<char> record(label_bytes + kImageBytes);
    if (file.size() % record.size() != 0) {
      ThrowIoError(ExitCode::kBadData, path, " has ", file.size(), " bytes, not a multiple of ",
                   record.size());
    }
    for (uint64_t at = 0; at < file.size(); at += record.size()) {
      file.ReadAt(at, record.data(), record.size());
      const int label = static_cast<unsigned char>(record[label_bytes - 1]);
      const std::string_view pixels(record.data() + label_bytes, kImageBytes);
      writer.Add(FLAGS_format == "datum" ? db::MakeDatum(3, kSide, kSide, pixels, label)
                                         : db::MakeTensorProtos(3, kSide, kSide, pixels, label));
    }
  }
  writer.Finish();
  std::printf("%lld records in %s\n", static_cast<long long>(writer.num_records()), output.c_str());
}

int Run() {
  CheckUsage(!FLAGS_input_folder.empty(), "--input_folder is needed");
  CheckUsage(FLAGS_format == "datum" || FLAGS_format == "tensorprotos", "--format is \"",
             FLAGS_format, "\", must be datum or tensorprotos");
  CheckUsage(!FLAGS_output_train_db_name.empty() || !FLAGS_output_test_db_name.empty(),
             "--output_train_db_name or --output_test_db_name is needed");
  if (!FLAGS_output_train_db_name.empty()) {
    Convert(FLAGS_is_cifar100 ? "train" : "data_batch", FLAGS_output_train_db_name);
  }
  if (!FLAGS_output_test_db_name.empty()) {
    Convert(FLAGS_is_cifar100 ? "test" : "test_batch", FLAGS_output_test_db_name);
  }
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "Makes the databases of CIFAR-10 or CIFAR-100.",
                            caffe2::Run);
}
