#include "db/image_folder.h"

#include <algorithm>
#include <filesystem>

#include "caffe2/core/exit_code.h"
#include "db/data_set.h"
#include "db/random_access_file.h"
#include "db/record_writer.h"

namespace caffe2::db {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FoldersOf(const std::string& path) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.is_directory(error)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// Calls visit(path) for the image files below the folder until it returns false.
template <typename Visit>
void ForEachImage(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator it(folder, kOptions, error), end; it != end;
       it.increment(error)) {
    if (error) ThrowIoError(ExitCode::kIo, "cannot list ", folder.string(), ": ", error.message());
    if (!IsImageName(it->path().string()) || !it->is_regular_file(error)) continue;
    if (!visit(it->path())) return;
  }
}

}  // namespace

bool IsImageFolder(const std::string& path) {
  bool found = false;
  for (const fs::path& folder : FoldersOf(path)) {
    ForEachImage(folder, [&](const fs::path&) { return !(found = true); });
    if (found) return true;
  }
  return false;
}

ImageFolder::ImageFolder(const std::string& path) : path_(path) {
  for (const fs::path& folder : FoldersOf(path)) {
    const auto label = static_cast<int>(classes_.size());
    const size_t before = files_.size();
    ForEachImage(folder, [&](const fs::path& file) {
      files_.push_back({file.lexically_relative(path).generic_string(), label});
      return true;
    });
    if (files_.size() > before) classes_.push_back(folder.filename().string());
  }
  if (files_.empty()) {
    ThrowIoError(ExitCode::kNoInput, "there are no image files in sub-folders of ", path,
                 ", which are its classes");
  }
  std::sort(files_.begin(), files_.end(),
            [](const File& a, const File& b) { return a.name < b.name; });
}

void ImageFolder::Read(int64_t i, std::string* key, std::string* value) {
  const File& image = files_[static_cast<size_t>(i)];
  RandomAccessFile file((fs::path(path_) / image.name).string());
  std::string bytes(file.size(), '\0');
  file.ReadAt(0, bytes.data(), bytes.size());
  *key = image.name;
  *value = MakeEncodedDatum(bytes, image.label);
}

namespace {

class ImageFolderDB final : public RecordListDB {
 public:
  ImageFolderDB(const std::string& source, Mode mode)
      : RecordListDB("images", source, mode), list_(source) {}

 private:
  std::unique_ptr<RecordList> NewList() const override {
    return std::make_unique<ImageFolder>(list_);
  }
  const ImageFolder list_;
};

REGISTER_CAFFE2_DB(images, ImageFolderDB);

}  // namespace
}  // namespace caffe2::db
