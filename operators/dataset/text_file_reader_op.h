// Reads text files of tab-separated fields, line by line.
#pragma once

#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "caffe2/core/type_meta.h"

namespace caffe2 {

// A file whose lines have a fixed number of fields, separated by tabs. A backslash escapes the next
// character. Thread-safe: threads that share a reader get different lines.
class TextFileReader {
 public:
  // Reads the file num_passes times, or without end if that is 0. Throws IoError, naming the file,
  // if it cannot be opened.
  TextFileReader(std::string file, int64_t num_passes, std::vector<TypeMeta> field_types);

  // Returns the fields of the next lines, at most max_lines of them, one after another; empty at
  // the end. Throws EnforceNotMet, naming file and line, if a line has another number of fields,
  // and for an empty file that is to be read without end. Throws IoError, naming the file, if it
  // cannot be read.
  std::vector<std::string> Read(int64_t max_lines);

  const std::vector<TypeMeta>& field_types() const { return field_types_; }
  const std::string& file() const { return file_; }

 private:
  void Open();
  bool ReadLine(std::vector<std::string>* fields);

  const std::string file_;
  const int64_t num_passes_;
  const std::vector<TypeMeta> field_types_;
  std::mutex mutex_;
  std::ifstream stream_;
  int64_t passes_ = 0;  // completed
  int64_t line_ = 0;    // lines read in this pass
};
CAFFE2_TYPE_NAME(std::unique_ptr<TextFileReader>,
                 "std::unique_ptr<caffe2::TextFileReaderInstance>");

}  // namespace caffe2
