#include "db/data_set.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "db/db.h"
#include "db/image_folder.h"
#include "db/random_access_file.h"
#include "db/record_list.h"
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

DataSet FindFile(const std::string& path) {
  if (IsInArchive(path)) return {"tar", path, path};
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  const std::string name = fs::path(path).filename().string();
  const auto is = [&](const char* suffix) { return Matches(name, "", suffix); };
  DataSet set{"", path, path};
  if (is("_X.bin")) {
    set.type = "stl10";
  } else if (is(".bin")) {
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

void LeftOutFiles::AddOther(const std::string& name) {
  if (others++ == 0) example = name;
}

std::string Describe(const LeftOutFiles& files, const std::string& source) {
  std::string text;
  if (files.images > 0) {
    text =
        MakeString("images outside of its sub-folders, which are the classes (", files.images, ")");
  }
  if (files.others > 0) {
    text +=
        MakeString(text.empty() ? "" : "; ", "files with names that do not end like .jpg or .png (",
                   files.others, ", for instance ", files.example, ")");
  }
  return text.empty() ? "" : MakeString("left out of ", source, ": ", text);
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

std::string ClassNamesFile(const std::string& source) {
  return source.substr(0, source.find_last_not_of('/') + 1) + ".classes.txt";
}

std::vector<std::string> ReadClassNames(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    ThrowIoError(ExitCode::kNoInput, "cannot read class names from ", path,
                 ": it is a folder; name a file with one name in each line");
  }
  std::ifstream file(path);
  if (!file) {
    ThrowIoError(ExitCode::kNoInput, "cannot read class names from ", path, ": ", ErrnoText(errno));
  }
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();  // written on Windows
    names.push_back(line);
  }
  return names;
}

SourceInfo FindSourceInfo(const std::string& type, const std::string& source) {
  if (type == "auto") return FindSourceInfo(GuessDBType(source), source);
  static const std::set<std::string> lists = {"cifar", "idx", "images", "stl10", "tar"};
  SourceInfo info;
  if (lists.count(type) > 0) {
    const auto index = CreateDB(type, source, READ)->NewIndex();
    info = dynamic_cast<const RecordList&>(*index).Info();
  }
  std::error_code error;
  const std::string file = ClassNamesFile(source);
  if (info.names.empty() && fs::exists(file, error)) info.names = ReadClassNames(file);
  if (info.num_labels == 0) info.num_labels = static_cast<int64_t>(info.names.size());
  return info;
}

void CheckSameClasses(const NamedClasses& first, const NamedClasses& second) {
  const auto &a = first.names, &b = second.names;
  if (a.empty() || b.empty() || a == b) return;
  for (const auto& [some, others] : {std::pair(a, b), std::pair(b, a)}) {
    for (const std::string& name : some) {
      const bool both = std::find(others.begin(), others.end(), name) != others.end();
      CheckUsage(both, first.what, " has ", a.size(), " classes and ", second.what, " ", b.size(),
                 "; they must be the same, but only one has \"", name, "\"");
    }
  }
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  ThrowUsage(first.what, " and ", second.what, " have their classes in different orders: label ",
             at.first - a.begin(), " is \"", at.first == a.end() ? "" : *at.first, "\" and \"",
             at.second == b.end() ? "" : *at.second, "\"");
}

}  // namespace caffe2::db
