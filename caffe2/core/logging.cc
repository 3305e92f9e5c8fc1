#include "caffe2/core/logging.h"

#include <cstring>

namespace caffe2 {

const char* Error::what() const noexcept { return message_.c_str(); }

void Error::AddContext(const std::string& context) { message_ += " (" + context + ")"; }

namespace internal {

void TextPart::WriteChars(std::ostream& stream, const void* text) {
  stream << static_cast<const char*>(text);
}
void TextPart::Manipulate(std::ostream& stream, const void* manipulator) {
  stream << reinterpret_cast<std::ios_base& (*)(std::ios_base&)>(const_cast<void*>(manipulator));
}
template void TextPart::Write<std::string>(std::ostream& stream, const void* value);
template void TextPart::Write<int>(std::ostream& stream, const void* value);
template void TextPart::Write<int64_t>(std::ostream& stream, const void* value);
template void TextPart::Write<size_t>(std::ostream& stream, const void* value);
template void TextPart::Write<float>(std::ostream& stream, const void* value);

std::string Concatenate(TextParts parts) {
  std::ostringstream stream;
  for (const TextPart& part : parts) part.WriteTo(stream);
  return stream.str();
}

void ThrowEnforceNotMet(const char* file, int line, const char* condition, TextParts message) {
  const std::string text = Concatenate(message);
  const char* slash = std::strrchr(file, '/');
  throw EnforceNotMet(MakeString(text.empty() ? condition : text.c_str(), " [enforce fail at ",
                                 slash ? slash + 1 : file, ":", line, "]"));
}

void ThrowComparison(const char* file, int line, const char* expression, TextPart x, TextPart y,
                     TextParts message) {
  const std::string text = Concatenate(message);
  ThrowEnforceNotMet(file, line, "",
                     {expression, " (", x, " vs ", y, ")", text.empty() ? "" : ": ", text});
}

}  // namespace internal
}  // namespace caffe2
