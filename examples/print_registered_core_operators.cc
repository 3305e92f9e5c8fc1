// Lists the operators of this build.
#include <gflags/gflags.h>

#include <cstdio>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"

DEFINE_string(device, "cpu", "cpu or cuda");
DEFINE_bool(doc, false, "print the documentation of each operator too");

namespace caffe2 {
namespace {

int Main() {
  CheckUsage(FLAGS_device == "cpu" || FLAGS_device == "cuda", "--device is ", FLAGS_device,
             "; known: cpu cuda");
  const DeviceType device = FLAGS_device == "cpu" ? CPU : CUDA;
  CAFFE_ENFORCE(LoadDeviceBackend(device), DeviceProblem(device));
  for (const std::string& key : DeviceOperatorRegistry(device)->Keys()) {
    std::printf("%s\n", key.c_str());
    const OpSchema* schema = FLAGS_doc ? OpSchemaRegistry::Schema(key) : nullptr;
    if (schema != nullptr) std::printf("%s\n\n", schema->doc().c_str());
  }
  return 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  return caffe2::RunProgram(&argc, &argv, "lists the operators of a device, one in a line",
                            caffe2::Main);
}
