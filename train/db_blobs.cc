#include "train/db_blobs.h"

#include <filesystem>
#include <system_error>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/operator_gradient.h"

namespace caffe2 {
namespace {

std::vector<Argument> FileArguments(const std::string& path) {
  return {MakeArgument("absolute_path", true), MakeArgument("db", path),
          MakeArgument("db_type", std::string("minidb"))};
}

// The blobs that are tensors on a device. Save and Load handle only host tensors.
std::vector<std::string> OnDevices(const Workspace& ws, const std::vector<std::string>& blobs) {
  std::vector<std::string> found;
  for (const std::string& name : blobs) {
    const Blob* blob = ws.GetBlob(name);
    const Tensor* tensor = blob != nullptr ? BlobTensor(*blob) : nullptr;
    if (tensor != nullptr && tensor->GetDeviceType() != CPU) found.push_back(name);
  }
  return found;
}

// Tensors and strings, without their names.
uintmax_t BytesOf(const Workspace& ws, const std::vector<std::string>& blobs) {
  uintmax_t bytes = 0;
  for (const std::string& name : blobs) {
    const Blob* blob = ws.GetBlob(name);
    if (blob == nullptr) continue;
    if (const Tensor* tensor = BlobTensor(*blob)) bytes += tensor->nbytes();
    if (blob->IsType<std::string>()) bytes += blob->Get<std::string>().size();
  }
  return bytes;
}

// What a full disk lacks, or "".
std::string MissingSpace(const std::string& path, uintmax_t bytes) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code unknown;
  const auto space = std::filesystem::space(folder.empty() ? "." : folder, unknown);
  if (unknown || space.available >= bytes) return "";
  return MakeString("; the file needs ", (bytes >> 10) + 1, " KiB, and ", space.available >> 10,
                    " KiB are free");
}

void WriteBlobs(Workspace* ws, const std::vector<std::string>& blobs, const FileTarget& target) {
  AtomicFile file(target);
  Workspace host(ws);
  for (const std::string& name : OnDevices(*ws, blobs)) {
    BlobGetMutableTensor(host.CreateLocalBlob(name), Device{})
        ->CopyFrom(ws->GetBlob(name)->Get<Tensor>());
  }
  host.RunOperatorOnce(GradientMakerBase::CreateOperatorDef("Save", "save", blobs, {},
                                                            FileArguments(file.temporary_path())));
  AppendChecksum(file.temporary_path());
  file.Publish();
}

}  // namespace

void SaveBlobs(Workspace* ws, const std::vector<std::string>& blobs, const FileTarget& target) {
  try {
    WriteBlobs(ws, blobs, target);
  } catch (const IoError& error) {
    // The temporary file is gone, so all space is free that the next try could use.
    const std::string missing = ExitCodeOf(error) == ExitCode::kCannotWrite
                                    ? MissingSpace(target.path, BytesOf(*ws, blobs))
                                    : "";
    if (missing.empty()) throw;
    ThrowIoError(ExitCode::kCannotWrite, error.what(), missing);
  }
}

void LoadBlobs(Workspace* ws, const std::vector<std::string>& blobs, const std::string& path,
               bool need_checksum) {
  if (need_checksum) VerifyChecksum(path);
  const std::vector<std::string> on_devices = OnDevices(*ws, blobs);
  for (const std::string& name : blobs) ws->CreateBlob(name);
  Workspace host(ws);
  for (const std::string& name : on_devices) host.CreateLocalBlob(name);
  host.RunOperatorOnce(
      GradientMakerBase::CreateOperatorDef("Load", "load", {}, blobs, FileArguments(path)));
  for (const std::string& name : on_devices) {
    ws->GetBlob(name)->GetMutable<Tensor>()->CopyFrom(host.GetBlob(name)->Get<Tensor>());
  }
}

}  // namespace caffe2
