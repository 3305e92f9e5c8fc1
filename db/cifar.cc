// cifar: the binary versions of CIFAR-10 and CIFAR-100. A record is one label byte (CIFAR-100: the
// coarse label, then the fine one, which is used), then 1024 bytes each of red, green and blue.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "db/data_set.h"
#include "db/pixel_files.h"
#include "db/random_access_file.h"
#include "db/record_list.h"
#include "db/record_writer.h"

namespace caffe2::db {
namespace {

constexpr int kSide = kCifarSide, kImageBytes = kCifarImageBytes;

// The training files of CIFAR-10 that the folder lacks. None for CIFAR-100, and for a single file.
std::vector<std::string> MissingBatches(const std::string& source) {
  std::vector<std::string> missing;
  std::error_code error;
  if (!std::filesystem::is_directory(source, error)) return missing;
  if (FilesOf(source, "data_batch", ".bin").empty()) return missing;
  for (int i = 1; i <= 5; ++i) {
    const std::string name = MakeString("data_batch_", i, ".bin");
    if (FilesOf(source, name, "").empty()) missing.push_back(name);
  }
  return missing;
}

class CifarList final : public RecordList {
 public:
  explicit CifarList(const std::string& source) : missing_(MissingBatches(source)) {
    std::vector<std::string> paths = FilesOf(source, "data_batch", ".bin");
    if (paths.empty()) paths = FilesOf(source, "", ".bin");
    if (paths.empty())
      ThrowIoError(ExitCode::kNoInput, "there are no CIFAR files (.bin) at ", source);
    for (const std::string& path : paths) Add(path);
  }

  int64_t NumRecords() const override { return records_; }
  std::string Key(int64_t i) const override { return NumberKey(i); }
  bool IsSorted() const override { return true; }
  SourceInfo Info() const override {
    const bool hundred = std::any_of(files_.begin(), files_.end(),
                                     [](const File& file) { return file.label_bytes == 2; });
    const char* names = hundred ? "fine_label_names.txt" : "batches.meta.txt";
    const int64_t labels = hundred ? 100 : 10;
    return {.names = NamesBeside(files_[0].file->path(), names, labels),
            .num_labels = labels,
            .missing = missing_};
  }

  void Read(int64_t i, std::string* key, std::string* value) override {
    *key = Key(i);
    size_t at = 0;
    while (i >= files_[at].records) i -= files_[at++].records;
    File& file = files_[at];
    std::string record(static_cast<size_t>(file.label_bytes + kImageBytes), '\0');
    file.file->ReadAt(static_cast<uint64_t>(i) * record.size(), record.data(), record.size());
    const int label = static_cast<unsigned char>(record[static_cast<size_t>(file.label_bytes) - 1]);
    const int64_t labels = file.label_bytes == 2 ? 100 : 10;
    if (label >= labels) {
      ThrowIoError(ExitCode::kBadData, file.file->path(), ": image ", i, " has label ", label,
                   ", must be less than ", labels, "; the file is damaged");
    }
    const std::string pixels = ReversePlanes(record.substr(record.size() - kImageBytes), 3);
    *value = MakeDatum(3, kSide, kSide, pixels, label);
  }

 private:
  struct File {
    std::unique_ptr<RandomAccessFile> file;
    int label_bytes;
    int64_t records;
  };

  // Which of the two sets a file is from shows in its size, or if it fits both, in its name.
  void Add(const std::string& path) {
    auto file = std::make_unique<RandomAccessFile>(path);
    const std::string name = std::filesystem::path(path).filename().string();
    const bool hundred_by_name = name == "train.bin" || name == "test.bin";
    for (const int label_bytes : {hundred_by_name ? 2 : 1, hundred_by_name ? 1 : 2}) {
      if (!HasCifarRecords(file->size(), label_bytes)) continue;
      const int64_t records = static_cast<int64_t>(file->size()) / (kImageBytes + label_bytes);
      files_.push_back({std::move(file), label_bytes, records});
      records_ += records;
      return;
    }
    ThrowIoError(ExitCode::kBadData, "CIFAR file ", path,
                 " is cut short or is no such file: ", file->size(), " bytes, not a multiple of ",
                 1 + kImageBytes, " or ", 2 + kImageBytes);
  }

  std::vector<File> files_;
  const std::vector<std::string> missing_;
  int64_t records_ = 0;
};

class CifarDB final : public RecordListDB {
 public:
  CifarDB(const std::string& source, Mode mode) : RecordListDB("cifar", source, mode) {
    CifarList{source};  // throws for bad files
  }

 private:
  std::unique_ptr<RecordList> NewList() const override {
    return std::make_unique<CifarList>(source());
  }
};

REGISTER_CAFFE2_DB(cifar, CifarDB);

}  // namespace
}  // namespace caffe2::db
