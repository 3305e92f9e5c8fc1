// Image files in one sub-folder for each class.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "db/record_list.h"

namespace caffe2::db {

// True if a sub-folder of the folder holds an image file, at any depth.
bool IsImageFolder(const std::string& path);

// The image files below the sub-folders of a folder, as encoded Datum records. The label is the
// rank (from 0) of the sub-folder among the sorted names of the sub-folders. Records are sorted by
// key, the path below the folder: "cat/17.jpg". Files without the name of an image (IsImageName)
// are left out.
class ImageFolder final : public RecordList {
 public:
  // Lists the files. Throws IoError if there are none, or none in one of the sub-folders, or if a
  // folder below `path` cannot be listed.
  explicit ImageFolder(const std::string& path);

  int64_t NumRecords() const override { return static_cast<int64_t>(files_.size()); }
  std::string Key(int64_t i) const override { return files_[static_cast<size_t>(i)].name; }
  bool IsSorted() const override { return true; }
  SourceInfo Info() const override {
    return {.names = classes_,
            .num_labels = static_cast<int64_t>(classes_.size()),
            .by_class = classes_.size() > 1,
            .left_out = left_out_};
  }
  void Read(int64_t i, std::string* key, std::string* value) override;

 private:
  struct File {
    std::string name;  // below the folder
    int label;
  };
  // Returns false if the folder holds no image.
  bool AddClass(const std::filesystem::path& folder);

  const std::string path_;
  std::vector<std::string> classes_;
  std::vector<File> files_;
  LeftOutFiles left_out_;
};

}  // namespace caffe2::db
