#include "caffe2/core/logging.h"

#include <cstring>

namespace caffe2::internal {

void ThrowEnforceNotMet(const char* file, int line, const std::string& text) {
  const char* slash = std::strrchr(file, '/');
  throw EnforceNotMet(
      MakeString(text, " [enforce fail at ", slash ? slash + 1 : file, ":", line, "]"));
}

}  // namespace caffe2::internal
