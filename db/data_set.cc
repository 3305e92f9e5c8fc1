#include "db/data_set.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "caffe2/core/logging.h"
#include "db/image_folder.h"
#include "db/pixel_files.h"
#include "db/random_access_file.h"
#include "db/tar_archive.h"

namespace caffe2::db {
namespace {

namespace fs = std::filesystem;

bool Matches(const std::string& name, const std::string& prefix, const std::string& suffix) {
  return name.size() >= prefix.size() + suffix.size() &&
         name.compare(0, prefix.size(), prefix) == 0 &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

std::string FirstOf(const std::vector<std::string>& files) {
  return files.empty() ? "" : files.front();
}

// A data set with these parts; without a type if both are "".
DataSet SetOf(const std::string& type, const std::string& train, const std::string& test) {
  return {train.empty() && test.empty() ? "" : type, train, test};
}

// By its first bytes: a gzip file, or an IDX file of bytes.
bool IsIdxFile(const std::string& path) {
  try {
    RandomAccessFile file(path);
    unsigned char magic[4] = {};
    file.ReadAt(0, magic, sizeof(magic));
    return (magic[0] == 0x1f && magic[1] == 0x8b) ||
           (magic[0] == 0 && magic[1] == 0 && magic[2] == 8 && magic[3] > 0);
  } catch (const IoError&) {
    return false;  // not readable or too short: no guess
  }
}

// By its name, or by its size: files of other programs end in .bin, too.
bool IsCifarFile(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (!Matches(name, "", ".bin")) return false;
  for (const char* prefix : {"data_batch", "test_batch"}) {
    if (Matches(name, prefix, ".bin")) return true;
  }
  if (name == "train.bin" || name == "test.bin") return true;
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  return !error && (HasCifarRecords(bytes, 1) || HasCifarRecords(bytes, 2));
}

DataSet FindFile(const std::string& path) {
  if (IsInArchive(path)) return {"tar", path, path};
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  const std::string name = fs::path(path).filename().string();
  const auto is = [&](const char* suffix) { return Matches(name, "", suffix); };
  DataSet set{"", path, path};
  if (is("_X.bin")) {
    set.type = "stl10";
  } else if (IsCifarFile(path)) {
    set.type = "cifar";
  } else if (is(".tar")) {
    set.type = "tar";
  } else if (name.find("images") != std::string::npos && IsIdxFile(path)) {
    set.type = "idx";
  }
  return set;
}

bool Fits(const DataSet& set, const std::string& type) {
  return !set.type.empty() && (type == "auto" || set.type == type);
}

// Of the types whose files have names of their own and lie right in the folder.
DataSet FindFiles(const std::string& folder, const std::string& type) {
  const auto part = [&](const char* prefix, const char* suffix) {
    return FirstOf(FilesOf(folder, prefix, suffix));
  };
  const bool ten = !part("data_batch", ".bin").empty();
  for (const DataSet& set : {SetOf("stl10", part("train_X", ".bin"), part("test_X", ".bin")),
                             ten ? SetOf("cifar", folder, part("test_batch", ".bin"))
                                 : SetOf("cifar", part("train", ".bin"), part("test", ".bin")),
                             SetOf("idx", part("train-images", ""), part("t10k-images", ""))}) {
    if (Fits(set, type)) return set;
  }
  return {};
}

DataSet Find(const std::string& path, const std::string& type);

// In sub-folders train, and test or val.
DataSet FindParts(const std::string& folder, const std::string& type) {
  const DataSet train = Find((fs::path(folder) / "train").string(), type);
  if (train.type.empty()) return {};
  for (const char* name : {"test", "val"}) {
    const DataSet test = Find((fs::path(folder) / name).string(), train.type);
    if (!test.type.empty()) return {train.type, train.train, test.test};
  }
  return {train.type, train.train, ""};
}

// As FindDataSet, but an archive is one part.
DataSet Find(const std::string& path, const std::string& type) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const DataSet set = FindFile(path);
    return Fits(set, type) ? set : DataSet{};
  }
  for (const auto& find : {FindFiles, FindParts}) {
    const DataSet set = find(path, type);
    if (!set.type.empty()) return set;
  }
  const bool any = type == "auto";
  if ((any || type == "images") && IsImageFolder(path)) return {"images", path, path};
  if ((any || type == "tar") && !FilesOf(path, "", ".tar").empty()) return {"tar", path, path};
  return {};
}

}  // namespace

std::vector<std::string> FilesOf(const std::string& path, const std::string& prefix,
                                 const std::string& suffix) {
  std::vector<std::string> files;
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    if (Matches(fs::path(path).filename().string(), prefix, suffix)) files.push_back(path);
    return files;
  }
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (!entry.is_regular_file(error)) continue;
    if (Matches(entry.path().filename().string(), prefix, suffix)) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool IsDataSetType(const std::string& db_type) {
  static const std::set<std::string> types = {"cifar", "idx", "images", "stl10", "tar"};
  return types.count(db_type) > 0;
}

std::string LooseImagesHint(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return "";
  std::vector<std::string> images = FilesOf(path, "", "");
  std::erase_if(images, [](const std::string& file) {
    const std::string name = fs::path(file).filename().string();
    return IsSystemName(name) || !IsImageName(name);
  });
  if (images.empty()) return "";
  const std::string first = (fs::path(path) / "CLASS" / fs::path(images[0]).filename()).string();
  return MakeString("; it holds ", images.size(), images.size() == 1 ? " image" : " images",
                    " itself: move them into one sub-folder for each class, such as ", first);
}

bool IsImageName(const std::string& name) {
  static const std::vector<std::string> extensions = {
      ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"};
  std::string extension = fs::path(name).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

bool IsSystemName(const std::string& name) {
  const bool hidden = !name.empty() && name[0] == '.' && name != "." && name != "..";
  return hidden || name == "Thumbs.db" || name == "desktop.ini" || name == "__MACOSX";
}

DataSet FindDataSet(const std::string& path, const std::string& type) {
  const DataSet set = Find(path, type);
  if (set.type != "tar" || set.train != set.test) return set;
  const std::vector<std::string> archives = FilesOf(set.train, "", ".tar");
  if (archives.size() != 1) return set;
  const TarParts parts = FindTarParts(archives[0]);
  return parts.train.empty() ? set : DataSet{"tar", parts.train, parts.test};
}

std::string TypeOfDataSet(const std::string& path) { return Find(path, "auto").type; }

}  // namespace caffe2::db
