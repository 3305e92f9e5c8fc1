// JSON for other programs to read: objects on one line.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace caffe2 {

// The text in quotation marks. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(const std::string& text);
// A number with up to 9 significant digits; "null" for a value that is not finite.
std::string JsonNumber(double value);

// Builds {"name": value, ...} in the order of the calls.
class JsonObject {
 public:
  JsonObject& Add(const std::string& name, const std::string& text) {
    return AddJson(name, JsonString(text));
  }
  JsonObject& Add(const std::string& name, const char* text) {
    return Add(name, std::string(text));
  }
  JsonObject& Add(const std::string& name, double value) {
    return AddJson(name, JsonNumber(value));
  }
  JsonObject& Add(const std::string& name, int64_t value) {
    return AddJson(name, std::to_string(value));
  }
  JsonObject& Add(const std::string& name, int value) { return Add(name, int64_t{value}); }
  // Adds text that is JSON already.
  JsonObject& AddJson(const std::string& name, const std::string& json);
  std::string ToString() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

// {"name": "value", ...}.
std::string JsonOf(const std::map<std::string, std::string>& values);

}  // namespace caffe2
