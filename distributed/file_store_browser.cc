#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include "caffe2/core/exit_code.h"
#include "distributed/percent_code.h"
#include "distributed/store_browser.h"

namespace caffe2 {
namespace {

namespace fs = std::filesystem;

// A store of files (file_store_handler.h): a directory for each run, a file for each key.
class FileBrowser final : public StoreBrowser {
 public:
  explicit FileBrowser(const std::string& path) : path_(path) { List(path_); }

  std::vector<std::string> RunIds() override {
    std::vector<std::string> ids;
    for (const auto& [id, folder] : List(path_)) {
      std::error_code ignored;
      if (fs::is_regular_file(folder / "generation", ignored)) ids.push_back(id);
    }
    return ids;
  }

  std::vector<std::string> Keys(const std::string& run_id) override {
    std::vector<std::string> keys;
    for (const auto& [key, file] : FilesOf(run_id)) keys.push_back(key);
    return keys;
  }

  std::map<std::string, std::string> Fields(const std::string& run_id,
                                            const std::string& key) override {
    const auto files = FilesOf(run_id);
    const auto found = files.find(key);
    if (found == files.end()) return {};
    std::ifstream stream(found->second);
    std::string text(StoreHandler::kMaxValueBytes, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(stream.gcount()));
    std::map<std::string, std::string> fields;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t colon = line.find(": ");
      if (colon != std::string::npos) fields[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return fields;
  }

 private:
  // What the entries of the directory stand for, without temporary files and counters.
  static std::map<std::string, fs::path> List(const fs::path& directory) {
    std::map<std::string, fs::path> entries;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename();
      if (name[0] == '.' || name.find('+') != std::string::npos) continue;
      if (const auto key = PercentDecode(name)) entries[*key] = entry->path();
    }
    if (error) {
      ThrowIoError(ExitCode::kStoreUnreachable, "file store: cannot read ", directory.string(),
                   ": ", error.message());
    }
    return entries;
  }

  std::map<std::string, fs::path> FilesOf(const std::string& run_id) const {
    const auto runs = List(path_);
    const auto run = runs.find(run_id);
    std::error_code ignored;
    if (run == runs.end() || !fs::is_directory(run->second, ignored)) return {};
    return List(run->second);
  }

  const fs::path path_;
};

}  // namespace

std::unique_ptr<StoreBrowser> NewFileBrowser(const std::string& path) {
  return std::make_unique<FileBrowser>(path);
}

}  // namespace caffe2
