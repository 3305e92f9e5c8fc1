// RecurrentNetworkBlobFetcher: shows the blobs that the steps of a recurrent network computed.
#include "operators/common/cpu_only.h"
#include "operators/recurrent/recurrent_network.h"

namespace caffe2 {
namespace {

class RecurrentNetworkBlobFetcherOp final : public Operator<CPUContext> {
 public:
  RecurrentNetworkBlobFetcherOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        ws_(ws),
        prefix_(GetSingleArgument<std::string>("prefix", "rnn")) {}

  bool RunOnDevice() override {
    const auto& scratch = Input<ScratchWorkspaces>(0);
    std::vector<std::string> names;
    for (size_t t = 0; t < scratch.steps.size(); ++t) {
      for (const std::string& blob : scratch.steps[t]->LocalBlobs()) {
        const Tensor* tensor = BlobTensor(*scratch.steps[t]->GetBlob(blob));
        if (tensor == nullptr || !tensor->has_data()) continue;
        names.push_back(prefix_ + "_" + blob + std::to_string(t));
        BlobGetMutableTensor(ws_->CreateBlob(names.back()), Device{})->CopyFrom(*tensor);
      }
    }
    Tensor* output = Output(0);
    output->Resize(names.size());
    std::copy(names.begin(), names.end(), output->mutable_data<std::string>());
    return true;
  }

 private:
  Workspace* ws_;
  std::string prefix_;
};

}  // namespace

REGISTER_CPU_OPERATOR(RecurrentNetworkBlobFetcher, RecurrentNetworkBlobFetcherOp);
OPERATOR_SCHEMA(RecurrentNetworkBlobFetcher)
    .NumInputs(1)
    .NumOutputs(1)
    .SetDoc(
        "Copies the tensors in the step workspaces of a RecurrentNetwork to the workspace of this "
        "operator, under the names <prefix>_<blob><step>.")
    .Arg<std::string>("prefix", "First part of the names. Default rnn.")
    .Input(0, "step_workspaces", "The last output of RecurrentNetwork.")
    .Output(0, "blob_names", "The names, as strings.")
    .CpuOnly(cpu_only::kWorkspace);
SHOULD_NOT_DO_GRADIENT(RecurrentNetworkBlobFetcher);

}  // namespace caffe2
