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
    if (IsSystemName(entry.path().filename().string())) continue;
    if (entry.is_directory(error)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// Calls visit(path) for the files below the folder, without system files, until it returns false.
// Throws IoError if the folder, or one below it, cannot be listed.
template <typename Visit>
void ForEachFile(const fs::path& folder, const Visit& visit) {
  std::error_code error, unknown;
  constexpr auto kOptions = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator it(folder, kOptions, error), end; !error && it != end;
       it.increment(error)) {
    if (IsSystemName(it->path().filename().string())) {
      it.disable_recursion_pending();
      continue;
    }
    if (it->is_regular_file(unknown) && !visit(it->path())) return;
  }
  if (error) ThrowIoError(ExitCode::kIo, "cannot list ", folder.string(), ": ", error.message());
}

int64_t CountImages(const std::string& folder) {
  int64_t count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!IsSystemName(name) && IsImageName(name) && entry.is_regular_file(error)) ++count;
  }
  return count;
}

}  // namespace

bool IsImageFolder(const std::string& path) {
  bool found = false;
  for (const fs::path& folder : FoldersOf(path)) {
    try {
      ForEachFile(folder,
                  [&](const fs::path& file) { return !(found = IsImageName(file.string())); });
    } catch (const IoError&) {
      // Whoever opens the folder as a database gets the error.
    }
    if (found) return true;
  }
  return false;
}

ImageFolder::ImageFolder(const std::string& path) : path_(path) {
  std::string without_image;
  for (const fs::path& folder : FoldersOf(path)) {
    if (!AddClass(folder) && without_image.empty()) without_image = folder.string();
  }
  if (files_.empty()) {
    ThrowIoError(ExitCode::kNoInput, "there are no image files in sub-folders of ", path,
                 ", which are its classes", LooseImagesHint(path));
  }
  if (!without_image.empty()) {
    ThrowIoError(ExitCode::kBadData, "the class folder ", without_image, " holds no image",
                 ": convert its files to JPEG or PNG, or remove the folder");
  }
  left_out_.images = CountImages(path);
  std::sort(files_.begin(), files_.end(),
            [](const File& a, const File& b) { return a.name < b.name; });
}

bool ImageFolder::AddClass(const fs::path& folder) {
  const auto label = static_cast<int>(classes_.size());
  const size_t before = files_.size();
  ForEachFile(folder, [&](const fs::path& file) {
    const std::string name = file.lexically_relative(path_).generic_string();
    if (IsImageName(name)) {
      files_.push_back({name, label});
    } else {
      left_out_.AddOther(name);
    }
    return true;
  });
  classes_.push_back(folder.filename().string());
  return files_.size() > before;
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
