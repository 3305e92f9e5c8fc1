#include "caffe2/utils/bounded_read.h"

#include <algorithm>

#include "caffe2/core/exit_code.h"

namespace caffe2 {

std::string ReadAtMost(int64_t max_bytes, const std::string& name, std::istream* stream) {
  constexpr int64_t kPart = int64_t{1} << 20;
  const auto limit = static_cast<size_t>(max_bytes);
  std::string content;
  while (*stream && content.size() <= limit) {
    const size_t had = content.size();
    content.resize(had + static_cast<size_t>(std::min(kPart, max_bytes + 1)));
    stream->read(content.data() + had, static_cast<std::streamsize>(content.size() - had));
    content.resize(had + static_cast<size_t>(stream->gcount()));
  }
  if (content.size() > limit) {
    ThrowIoError(ExitCode::kBadData, name, " has more than ", max_bytes, " bytes");
  }
  return content;
}

}  // namespace caffe2
