// The IDX format of the MNIST files (Y. LeCun, C. Cortes, C. Burges, "The MNIST database").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caffe2::db {

// An array of bytes and its dims, outermost first.
struct IdxFile {
  std::vector<int64_t> dims;
  std::string data;
};

// Reads a whole IDX file of unsigned bytes, plain or gzip-compressed. Throws IoError with the path
// if the file cannot be read, is of another type, is shorter than its header says, or claims more
// than 16 GiB.
IdxFile ReadIdxFile(const std::string& path);

}  // namespace caffe2::db
