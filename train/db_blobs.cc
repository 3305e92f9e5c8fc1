#include "train/db_blobs.h"

#include "caffe2/core/logging.h"
#include "caffe2/core/operator_gradient.h"
#include "train/atomic_file.h"

namespace caffe2 {
namespace {

std::vector<Argument> FileArguments(const std::string& path) {
  return {MakeArgument("absolute_path", true), MakeArgument("db", path),
          MakeArgument("db_type", std::string("minidb"))};
}

}  // namespace

void SaveBlobs(Workspace* ws, const std::vector<std::string>& blobs, const std::string& path) {
  AtomicFile file(path);
  ws->RunOperatorOnce(GradientMakerBase::CreateOperatorDef("Save", "save", blobs, {},
                                                           FileArguments(file.temporary_path())));
  AppendChecksum(file.temporary_path());
  file.Publish();
}

void LoadBlobs(Workspace* ws, const std::vector<std::string>& blobs, const std::string& path,
               bool need_checksum) {
  if (need_checksum) VerifyChecksum(path);
  ws->RunOperatorOnce(
      GradientMakerBase::CreateOperatorDef("Load", "load", {}, blobs, FileArguments(path)));
}

}  // namespace caffe2
