// The IDX format of the MNIST files (Y. LeCun, C. Cortes, C. Burges, "The MNIST database").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caffe2::db {

// An array of bytes with its dims, first one outermost.
struct IdxFile {
  std::vector<int64_t> dims;
  std::string data;
};

// Reads a file of unsigned bytes, plain or gzip-compressed, whole. Throws IoError with the path if
// it cannot be read or is not what its header says.
IdxFile ReadIdxFile(const std::string& path);

}  // namespace caffe2::db
