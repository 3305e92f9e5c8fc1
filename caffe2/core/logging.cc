#include "caffe2/core/logging.h"

#include <cstring>

namespace caffe2::internal {

void ThrowEnforceNotMet(const char* file, int line, const std::string& what,
                        const std::string& message) {
  const char* slash = std::strrchr(file, '/');
  std::string text = what;
  if (!message.empty()) text += (text.empty() ? "" : ": ") + message;
  throw EnforceNotMet(MakeString(text, " [", slash ? slash + 1 : file, ":", line, "]"));
}

}  // namespace caffe2::internal
