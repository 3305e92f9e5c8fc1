#include "db/idx_file.h"

#include <zlib.h>

#include <cerrno>
#include <memory>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/library_versions.h"
#include "db/random_access_file.h"

namespace caffe2::db {
namespace {

const RegisterLibraryVersion version("zlib", zlibVersion());

constexpr unsigned char kUnsignedByte = 0x08;
constexpr int64_t kMaxBytes = int64_t{1} << 34;

class GzipReader {
 public:
  explicit GzipReader(const std::string& path)
      : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (!file_) ThrowIoError(ExitCode::kNoInput, "cannot open ", path, ": ", ErrnoText(errno));
    gzbuffer(file_.get(), 256 << 10);
  }

  // Returns the number of bytes read: fewer than n at the end of the file.
  size_t Read(char* destination, size_t n) {
    size_t got = 0;
    while (got < n) {
      const auto part = static_cast<unsigned>(std::min<size_t>(n - got, 1 << 20));
      const int result = gzread(file_.get(), destination + got, part);
      if (result < 0) {
        int error = 0;
        ThrowIoError(ExitCode::kBadData, "cannot read ", path_, ": ", gzerror(file_.get(), &error));
      }
      if (result == 0) break;
      got += static_cast<size_t>(result);
    }
    return got;
  }

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

}  // namespace

IdxFile ReadIdxFile(const std::string& path) {
  GzipReader reader(path);
  unsigned char magic[4];
  if (reader.Read(reinterpret_cast<char*>(magic), 4) != 4 || magic[0] != 0 || magic[1] != 0 ||
      magic[2] != kUnsignedByte || magic[3] == 0) {
    ThrowIoError(ExitCode::kBadData, path, " is not an IDX file of unsigned bytes");
  }
  IdxFile file;
  int64_t size = 1;
  for (int i = 0; i < magic[3]; ++i) {
    unsigned char raw[4];
    if (reader.Read(reinterpret_cast<char*>(raw), 4) != 4) {
      ThrowIoError(ExitCode::kBadData, "IDX file ", path, " is truncated in its header");
    }
    const int64_t dim = int64_t{raw[0]} << 24 | raw[1] << 16 | raw[2] << 8 | raw[3];
    file.dims.push_back(dim);
    if (__builtin_mul_overflow(size, dim, &size) || size > kMaxBytes) {
      ThrowIoError(ExitCode::kBadData, "IDX file ", path,
                   " is damaged: its header claims more than ", kMaxBytes, " bytes");
    }
  }
  // Read in parts, so that a damaged header cannot make us allocate more than the file holds.
  constexpr int64_t kPart = 16 << 20;
  while (static_cast<int64_t>(file.data.size()) < size) {
    const size_t have = file.data.size();
    const size_t wanted = static_cast<size_t>(std::min<int64_t>(kPart, size - have));
    file.data.resize(have + wanted);
    const size_t got = reader.Read(file.data.data() + have, wanted);
    if (got < wanted) {
      ThrowIoError(ExitCode::kBadData, "IDX file ", path, " is truncated: ", have + got, " of ",
                   size, " bytes");
    }
  }
  return file;
}

}  // namespace caffe2::db
