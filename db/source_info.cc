#include "db/source_info.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/usage_error.h"
#include "db/data_set.h"
#include "db/db.h"
#include "db/random_access_file.h"
#include "db/record_list.h"

namespace caffe2::db {

namespace fs = std::filesystem;

void LeftOutFiles::AddOther(const std::string& name) {
  if (others++ == 0) example = name;
}

std::string Describe(const LeftOutFiles& files, const std::string& source) {
  std::string text;
  if (files.images > 0) {
    text = MakeString("images outside its sub-folders, which are the classes (", files.images, ")");
  }
  if (files.others > 0) {
    text +=
        MakeString(text.empty() ? "" : "; ", "files with names that do not end like .jpg or .png (",
                   files.others, ", for instance ", files.example, ")");
  }
  return text.empty() ? "" : MakeString("left out of ", source, ": ", text);
}

std::string DescribeMissing(const std::vector<std::string>& missing, const std::string& source) {
  std::string list;
  for (const std::string& name : missing) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "" : MakeString(source, " is incomplete: it lacks ", list);
}

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

std::vector<std::string> NamesBeside(const std::string& data_file, const std::string& names_file,
                                     int64_t num_labels) {
  const fs::path file = fs::path(data_file).parent_path() / names_file;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};
  if (access(file.c_str(), R_OK) != 0) {
    LOG(WARNING) << "classes have no names: cannot read " << file.string() << ": "
                 << std::strerror(errno);
    return {};
  }
  std::vector<std::string> names = ReadClassNames(file.string());
  while (!names.empty() && names.back().empty()) names.pop_back();
  return static_cast<int64_t>(names.size()) == num_labels ? names : std::vector<std::string>{};
}

SourceInfo FindSourceInfo(const std::string& type, const std::string& source) {
  if (type == "auto") return FindSourceInfo(GuessDBType(source), source);
  SourceInfo info;
  if (IsDataSetType(type)) {
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
