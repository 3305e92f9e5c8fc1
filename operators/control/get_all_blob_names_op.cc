// GetAllBlobNames: the names of a workspace's blobs.
#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

class GetAllBlobNamesOp final : public Operator<CPUContext> {
 public:
  GetAllBlobNamesOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        include_shared_(GetSingleArgument<int>("include_shared", 1) != 0),
        workspace_(ws) {}

  bool RunOnDevice() override {
    const auto names = include_shared_ ? workspace_->Blobs() : workspace_->LocalBlobs();
    Tensor* output = Output(0);
    output->Resize(static_cast<int64_t>(names.size()));
    std::copy(names.begin(), names.end(), output->mutable_data<std::string>());
    return true;
  }

 private:
  const bool include_shared_;
  Workspace* workspace_;
};

std::vector<TensorShape> InferStrings(const OperatorDef&, const std::vector<TensorShape>&) {
  return {UnknownTensorShape()};
}

}  // namespace

REGISTER_CPU_OPERATOR(GetAllBlobNames, GetAllBlobNamesOp);
OPERATOR_SCHEMA(GetAllBlobNames)
    .NumInputs(0)
    .NumOutputs(1)
    .TensorInferenceFunction(InferStrings)
    .SetDoc("The names of the blobs of the workspace that the operator runs in, sorted.")
    .Arg<int>("include_shared", "1 (default): blobs of parent workspaces, too; 0: its own only.")
    .Output(0, "blob_names", "Strings [number of blobs]; the output is one of them.")
    .CpuOnly(cpu_only::kWorkspace);
NO_GRADIENT(GetAllBlobNames);

}  // namespace caffe2
