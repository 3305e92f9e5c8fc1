#include "train/db_blobs.h"

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

}  // namespace

void SaveBlobs(Workspace* ws, const std::vector<std::string>& blobs, const FileTarget& target) {
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
