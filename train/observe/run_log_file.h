// The files in which a run records what it does.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace caffe2 {

// Training is more important than its records: if the file can no longer be written (a full disk),
// it logs one warning, and training goes on. Not thread-safe.
class RunLogFile {
 public:
  // Opens the file to append, and makes it if there is none. Throws IoError (kCannotWrite) with the
  // path and the reason.
  explicit RunLogFile(const std::string& path);

  // Writes the bytes to the file at once, so that others can read them. Never throws.
  void Append(const std::string& bytes);
  // For files of lines: ends the last line, if an earlier run was cut off within it.
  void EndLine();
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  const std::string path_;
  std::unique_ptr<FILE, Close> file_;  // null after an error
};

// Writes a file, which appears complete or not at all. If that fails, logs a warning and returns
// false: training goes on.
bool WriteRunFile(const std::string& path, const std::string& contents);

// Makes the folder, and its parents, unless it exists. Throws IoError (kCannotWrite), which begins
// with `flag`, if that fails.
void MakeLogDirectory(const std::string& flag, const std::string& path);

}  // namespace caffe2
