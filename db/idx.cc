// idx: MNIST and its like, in IDX files of images and labels, plain or gzip.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/tensor.h"
#include "db/data_set.h"
#include "db/idx_file.h"
#include "db/record_list.h"
#include "db/record_writer.h"

namespace caffe2::db {
namespace {

namespace fs = std::filesystem;

// The file of images at a path, which is this file or a folder.
std::string ImagesAt(const std::string& source) {
  const DataSet set = FindDataSet(source, "idx");
  if (set.train.empty()) {
    ThrowIoError(ExitCode::kNoInput, "there is no IDX file train-images-idx3-ubyte (or .gz) at ",
                 source);
  }
  return set.train;
}

// train-images-idx3-ubyte.gz -> train-labels-idx1-ubyte, with .gz or without.
std::string LabelsOf(const std::string& images) {
  std::string name = fs::path(images).filename().string();
  name.replace(name.find("images"), std::string("images").size(), "labels");
  const size_t dims = name.find("idx3");
  if (dims != std::string::npos) name.replace(dims, std::string("idx3").size(), "idx1");
  const fs::path labels = fs::path(images).replace_filename(name);
  std::error_code error;
  for (const fs::path& other :
       {labels, fs::path(labels.string() + ".gz"), fs::path(labels).replace_extension()}) {
    if (fs::is_regular_file(other, error)) return other.string();
  }
  ThrowIoError(ExitCode::kNoInput, "there are no labels ", labels.string(), " for ", images);
}

// Both files in memory, shared by all lists of a database.
struct IdxPair {
  explicit IdxPair(const std::string& source) {
    const std::string path = ImagesAt(source), labels_path = LabelsOf(path);
    images = ReadIdxFile(path);
    labels = ReadIdxFile(labels_path);
    const bool fit = images.dims.size() == 3 && labels.dims.size() == 1 &&
                     images.dims[0] == labels.dims[0] && images.dims[1] <= 1 << 16 &&
                     images.dims[2] <= 1 << 16;
    if (!fit) {
      ThrowIoError(ExitCode::kBadData, "IDX file ", path, " of shape ", ShapeString(images.dims),
                   " must hold images of rows and columns, one for each label in ", labels_path,
                   " of shape ", ShapeString(labels.dims));
    }
  }
  IdxFile images, labels;
};

class IdxList final : public RecordList {
 public:
  explicit IdxList(std::shared_ptr<const IdxPair> files) : files_(std::move(files)) {}

  int64_t NumRecords() const override { return files_->images.dims[0]; }
  std::string Key(int64_t i) const override { return NumberKey(i); }
  bool IsSorted() const override { return true; }
  SourceInfo Info() const override {
    unsigned char highest = 0;
    for (const char label : files_->labels.data) {
      highest = std::max(highest, static_cast<unsigned char>(label));
    }
    return {.num_labels = highest + 1};
  }

  void Read(int64_t i, std::string* key, std::string* value) override {
    *key = Key(i);
    const auto height = static_cast<int>(files_->images.dims[1]);
    const auto width = static_cast<int>(files_->images.dims[2]);
    const auto at = static_cast<size_t>(i), size = static_cast<size_t>(height) * width;
    const std::string_view pixels(files_->images.data);
    const auto label = static_cast<unsigned char>(files_->labels.data[at]);
    *value = MakeDatum(1, height, width, pixels.substr(at * size, size), label);
  }

 private:
  const std::shared_ptr<const IdxPair> files_;
};

class IdxDB final : public RecordListDB {
 public:
  IdxDB(const std::string& source, Mode mode)
      : RecordListDB("idx", source, mode), files_(std::make_shared<IdxPair>(source)) {}

 private:
  std::unique_ptr<RecordList> NewList() const override { return std::make_unique<IdxList>(files_); }
  const std::shared_ptr<const IdxPair> files_;
};

REGISTER_CAFFE2_DB(idx, IdxDB);

}  // namespace
}  // namespace caffe2::db
