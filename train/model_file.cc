#include "train/model_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/net_io.h"

namespace caffe2 {
namespace {

enum class FileKind { kFolder, kModel, kCheckpoint, kOnnx, kSafetensors, kTorch, kPicture, kOther };

bool StartsWith(const std::string& bytes, const std::string& start) {
  return bytes.compare(0, start.size(), start) == 0;
}

std::string FirstBytes(const std::string& path) {
  constexpr std::streamsize kBytes = 64;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) ThrowIoError(ExitCode::kNoInput, "cannot read ", path, ": ", std::strerror(errno));
  std::string bytes(kBytes, '\0');
  file.read(bytes.data(), kBytes);
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// The key of the first record, if these are the first bytes of a minidb file.
std::string FirstKey(const std::string& bytes) {
  int32_t length = 0;
  constexpr size_t kLengths = 2 * sizeof(length);
  if (bytes.size() <= kLengths) return "";
  std::memcpy(&length, bytes.data(), sizeof(length));
  return length > 0 ? bytes.substr(kLengths, static_cast<size_t>(length)) : "";
}

// ONNX's message begins with the version of its format (field 1, a small number) and goes on with
// one of the fields 2 to 8.
bool IsOnnx(const std::string& bytes) {
  const std::string next_fields = "\x12\x1a\x22\x28\x32\x3a\x42";
  return bytes.size() > 2 && bytes[0] == '\x08' && bytes[1] > 0 &&
         next_fields.find(bytes[2]) != std::string::npos;
}

// The length of a header, which is JSON, comes first.
bool IsSafetensors(const std::string& bytes) {
  return bytes.size() > 8 && bytes[8] == '{' && bytes[6] == '\0' && bytes[7] == '\0';
}

bool IsPicture(const std::string& bytes) {
  return StartsWith(bytes, "\xff\xd8\xff") || StartsWith(bytes, "\x89PNG");
}

FileKind KindOf(const std::string& path) {
  std::error_code error;  // reading the file says what is wrong
  if (std::filesystem::is_directory(path, error)) return FileKind::kFolder;
  const std::string bytes = FirstBytes(path), key = FirstKey(bytes);
  if (key == "!!META_NET_DEF") return FileKind::kModel;
  if (key == "!!CHECKPOINT") return FileKind::kCheckpoint;
  if (IsOnnx(bytes)) return FileKind::kOnnx;
  if (IsSafetensors(bytes)) return FileKind::kSafetensors;
  if (StartsWith(bytes, "PK\x03\x04") || StartsWith(bytes, "\x80\x02")) return FileKind::kTorch;
  return IsPicture(bytes) ? FileKind::kPicture : FileKind::kOther;
}

bool IsNetDef(const std::string& path) {
  try {
    return ReadNetDef(path).op_size() > 0;
  } catch (const Error&) {
    return false;
  }
}

// The command that makes a model of `path`. doppio convert needs the right end of its name.
std::string HowToConvert(const std::string& path, const std::string& end) {
  const std::filesystem::path name(path);
  const std::string stem = name.stem().string();
  if (name.extension() == end) return MakeString("doppio convert ", path, " ", stem, ".mdl");
  return MakeString("name it ", stem, end, ", and convert it: doppio convert ", stem, end, " ",
                    stem, ".mdl");
}

struct Foreign {
  std::string what;    // "" for files that may be a model or a checkpoint
  std::string advice;  // to those who need a model
};

Foreign ForeignFile(FileKind kind, const std::string& path) {
  switch (kind) {
    case FileKind::kFolder:
      return {"a folder", "name a file in it, or a folder with init_net.pb and predict_net.pb"};
    case FileKind::kOnnx:
      return {"an ONNX model", HowToConvert(path, ".onnx")};
    case FileKind::kSafetensors:
      return {"a safetensors file, with parameters and no net", HowToConvert(path, ".safetensors")};
    case FileKind::kTorch:
      return {"a file of PyTorch, or a zip archive",
              HowToConvert(path, path.ends_with(".pt") ? ".pt" : ".pth")};
    case FileKind::kPicture:
      return {"a picture", "name an exported model (.mdl)"};
    default:
      return {};
  }
}

[[noreturn]] void RefuseFile(const std::string& path, const std::string& what,
                             const std::string& advice) {
  ThrowIoError(ExitCode::kBadData, path, " is ", what, ": ", advice);
}

}  // namespace

void CheckIsModel(const std::string& path) {
  const FileKind kind = KindOf(path);
  if (kind == FileKind::kCheckpoint) {
    RefuseFile(path, "a checkpoint, not a model",
               MakeString("name a .mdl file, or continue the run of the checkpoint with --resume "
                          "--checkpoint_path ",
                          path));
  }
  if (kind == FileKind::kOther && IsNetDef(path)) {
    RefuseFile(path, "a net without parameters",
               "name two nets as init_net.pb,predict_net.pb, or the folder that holds them");
  }
  const Foreign foreign = ForeignFile(kind, path);
  if (!foreign.what.empty()) RefuseFile(path, foreign.what, foreign.advice);
}

void CheckIsCheckpoint(const std::string& path) {
  const FileKind kind = KindOf(path);
  if (kind == FileKind::kModel) {
    RefuseFile(path, "a model, not a checkpoint",
               MakeString("start from it with --load_model_path ", path, " and without --resume"));
  }
  const std::string what = ForeignFile(kind, path).what;
  if (!what.empty()) {
    RefuseFile(path, what + ", not a checkpoint", "name a file that a run has written as one");
  }
}

void CheckCanBeCheckpoint(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size == 0 || KindOf(path) == FileKind::kCheckpoint) return;
  ThrowIoError(ExitCode::kCannotWrite, "a checkpoint would replace ", path,
               ", which is none: give another --checkpoint_path, or move the file away");
}

bool IsModelFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && KindOf(path) == FileKind::kModel;
}

}  // namespace caffe2
