#include "caffe2/utils/json_text.h"

#include <cmath>
#include <cstdio>

namespace caffe2 {
namespace {

// The length of the valid UTF-8 character at the start of `text`; 0 if there is none.
size_t CharacterLength(const char* text, size_t size) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > size) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and numbers above U+10FFFF.
  const unsigned char second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

std::string Escaped(char c) {
  if (c == '"' || c == '\\') return {'\\', c};
  if (c == '\n') return "\\n";
  char code[8];
  std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned char>(c));
  return code;
}

}  // namespace

std::string JsonString(const std::string& text) {
  std::string json = "\"";
  for (size_t i = 0; i < text.size();) {
    const size_t length = CharacterLength(text.data() + i, text.size() - i);
    const char c = text[i];
    if (length == 0) {
      json += "\xef\xbf\xbd";
    } else if (length == 1 && (c == '"' || c == '\\' || (c >= 0 && c < ' ') || c == 127)) {
      json += Escaped(c);
    } else {
      json.append(text, i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return json + "\"";
}

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

JsonObject& JsonObject::AddJson(const std::string& name, const std::string& json) {
  members_ += (members_.empty() ? "" : ", ") + JsonString(name) + ": " + json;
  return *this;
}

std::string JsonOf(const std::map<std::string, std::string>& values) {
  JsonObject object;
  for (const auto& [name, value] : values) object.Add(name, value);
  return object.ToString();
}

}  // namespace caffe2
