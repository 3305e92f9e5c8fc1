#include "caffe2/utils/net_io.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/bounded_read.h"

namespace caffe2 {
namespace {

// Levels of messages. Protobuf has the same limit for binary files, but none for text, where deep
// levels overflow the stack.
constexpr int kMaxNesting = 100;
constexpr uintmax_t kMaxBytes = uintmax_t{1} << 30;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) ThrowIoError(ExitCode::kNoInput, "cannot open ", path, ": ", std::strerror(errno));
  std::error_code no_size;  // not every file has a size
  const uintmax_t size = std::filesystem::file_size(path, no_size);
  if (!no_size && size > kMaxBytes) {
    ThrowIoError(ExitCode::kBadData, path, " has ", size, " bytes; a net may have at most ",
                 kMaxBytes);
  }
  const std::string content = ReadAtMost(static_cast<int64_t>(kMaxBytes), path, &file);
  if (file.bad()) ThrowIoError(ExitCode::kIo, "cannot read ", path, ": ", std::strerror(errno));
  if (content.empty()) ThrowIoError(ExitCode::kBadData, path, " is empty or not a regular file");
  return content;
}

bool HasTextName(const std::string& path) {
  for (const std::string suffix : {".pbtxt", ".prototxt", ".txt"}) {
    if (path.size() >= suffix.size() &&
        path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0) {
      return true;
    }
  }
  return false;
}

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The end of the string or comment that starts at `begin`.
size_t EndOfOpaque(const std::string& text, size_t begin) {
  if (text[begin] == '#') return std::min(text.find('\n', begin), text.size());
  size_t i = begin + 1;
  while (i < text.size() && text[i] != text[begin]) i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

// Translates old text: it spells device_type by name, while the field is now a number, and
// device_id as cuda_gpu_id.
std::string ModernText(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  bool after_device_type = false;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text[i] == '"' || text[i] == '\'' || text[i] == '#') {
      end = EndOfOpaque(text, i);
      result.append(text, i, end - i);
    } else if (IsWordCharacter(text[i])) {
      while (end < text.size() && IsWordCharacter(text[end])) ++end;
      const std::string word = text.substr(i, end - i);
      DeviceType type;
      if (after_device_type && DeviceType_Parse(word, &type)) {
        result += std::to_string(type);
      } else {
        result += word == "cuda_gpu_id" ? "device_id" : word;
      }
      after_device_type = word == "device_type";
    } else {
      result += text[i];
    }
    i = end;
  }
  return result;
}

// Keeps the first error.
class ErrorText final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (text_.empty())
      text_ = MakeString("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// What is wrong; "" if the text was read.
template <typename Message>
std::string ParseText(const std::string& text, Message* message) {
  ErrorText errors;
  google::protobuf::TextFormat::Parser parser;
  parser.SetRecursionLimit(kMaxNesting);
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(ModernText(text), message)) return "";
  return errors.text().empty() ? "not the text of a message" : errors.text();
}

template <typename Message>
Message ReadMessage(const std::string& path) {
  const std::string content = ReadFile(path);
  const std::string what = Message::descriptor()->name();
  Message message;
  if (HasTextName(path)) {
    const std::string error = ParseText(content, &message);
    if (error.empty() || message.ParseFromString(content)) return message;
    ThrowIoError(ExitCode::kBadData, path, " is not a ", what, ": ", error);
  }
  if (message.ParseFromString(content)) return message;
  const std::string error = ParseText(content, &message);
  if (error.empty()) return message;
  ThrowIoError(ExitCode::kBadData, path, " is not a ", what,
               ": truncated or not binary; read as text: ", error);
}

}  // namespace

NetDef ReadNetDef(const std::string& path) { return ReadMessage<NetDef>(path); }

PlanDef ReadPlanDef(const std::string& path) { return ReadMessage<PlanDef>(path); }

NetDef ParseNetDefText(const std::string& text, const std::string& name) {
  NetDef net;
  const std::string error = ParseText(text, &net);
  if (!error.empty()) ThrowIoError(ExitCode::kBadData, name, " is not a NetDef: ", error);
  return net;
}

}  // namespace caffe2
