// stl10: the binary version of STL-10. <part>_X.bin holds images of 96 x 96: a plane each of red,
// green and blue, column by column. <part>_y.bin holds a byte for each, the label from 1.
#include <vector>

#include "caffe2/core/exit_code.h"
#include "db/data_set.h"
#include "db/pixel_files.h"
#include "db/random_access_file.h"
#include "db/record_list.h"
#include "db/record_writer.h"

namespace caffe2::db {
namespace {

constexpr int kSide = 96;
constexpr uint64_t kImageBytes = uint64_t{3} * kSide * kSide;
constexpr int64_t kStl10Labels = 10;

// The file of images at a path, which is this file or a folder.
std::string ImagesAt(const std::string& source) {
  const DataSet set = FindDataSet(source, "stl10");
  if (set.train.empty()) {
    ThrowIoError(ExitCode::kNoInput, "there is no STL-10 file train_X.bin at ", source);
  }
  return set.train;
}

std::string LabelsOf(std::string images) {
  return images.replace(images.size() - std::string("X.bin").size(), std::string::npos, "y.bin");
}

class Stl10List final : public RecordList {
 public:
  explicit Stl10List(const std::string& source)
      : images_(ImagesAt(source)), labels_(LabelsOf(images_.path())) {
    if (images_.size() != labels_.size() * kImageBytes) {
      ThrowIoError(ExitCode::kBadData, "STL-10 file ", images_.path(), " has ", images_.size(),
                   " bytes, where the ", labels_.size(), " labels in ", labels_.path(), " need ",
                   labels_.size() * kImageBytes);
    }
  }

  int64_t NumRecords() const override { return static_cast<int64_t>(labels_.size()); }
  std::string Key(int64_t i) const override { return NumberKey(i); }
  bool IsSorted() const override { return true; }
  SourceInfo Info() const override {
    return {.names = NamesBeside(images_.path(), "class_names.txt", kStl10Labels),
            .num_labels = kStl10Labels};
  }

  void Read(int64_t i, std::string* key, std::string* value) override {
    *key = Key(i);
    std::string pixels(kImageBytes, '\0');
    images_.ReadAt(static_cast<uint64_t>(i) * kImageBytes, pixels.data(), pixels.size());
    unsigned char label = 0;
    labels_.ReadAt(static_cast<uint64_t>(i), &label, 1);
    if (label < 1 || label > kStl10Labels) {
      ThrowIoError(ExitCode::kBadData, labels_.path(), ": image ", i, " has label ",
                   static_cast<int>(label), ", must be from 1 to ", kStl10Labels,
                   "; the file is damaged");
    }
    *value = MakeDatum(3, kSide, kSide, ReversePlanes(TransposePlanes(pixels, kSide), 3),
                       static_cast<int>(label) - 1);
  }

 private:
  RandomAccessFile images_, labels_;
};

class Stl10DB final : public RecordListDB {
 public:
  Stl10DB(const std::string& source, Mode mode) : RecordListDB("stl10", source, mode) {
    Stl10List{source};  // throws for bad files
  }

 private:
  std::unique_ptr<RecordList> NewList() const override {
    return std::make_unique<Stl10List>(source());
  }
};

REGISTER_CAFFE2_DB(stl10, Stl10DB);

}  // namespace
}  // namespace caffe2::db
