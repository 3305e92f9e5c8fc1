// EstimateAllBlobSizes: the size of a file of a workspace's blobs.
#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "operators/common/cpu_only.h"
#include "operators/io/load_save_op.h"

namespace caffe2 {
namespace {

class EstimateAllBlobSizesOp final : public Operator<CPUContext> {
 public:
  EstimateAllBlobSizesOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        include_shared_(GetSingleArgument<int>("include_shared", 1) != 0),
        options_(SerializationOptionsOf(*this)),
        workspace_(ws) {}

  bool RunOnDevice() override {
    const auto names = include_shared_ ? workspace_->Blobs() : workspace_->LocalBlobs();
    const auto count = static_cast<int64_t>(names.size());
    Output(0)->Resize(count);
    Output(1)->Resize(count);
    std::copy(names.begin(), names.end(), Output(0)->mutable_data<std::string>());
    auto* sizes = Output(1)->mutable_data<int64_t>();
    for (int64_t i = 0; i < count; ++i) {
      const Blob& blob = *workspace_->GetBlob(names[i]);
      sizes[i] = EstimateSerializedSize(blob, names[i], OptionsForBlob(names[i], options_));
    }
    return true;
  }

 private:
  const bool include_shared_;
  const SerializationOptions options_;
  Workspace* workspace_;
};

std::vector<TensorShape> InferNamesAndSizes(const OperatorDef&, const std::vector<TensorShape>&) {
  return {UnknownTensorShape(), UnknownTensorShape()};
}

}  // namespace

REGISTER_CPU_OPERATOR(EstimateAllBlobSizes, EstimateAllBlobSizesOp);
OPERATOR_SCHEMA(EstimateAllBlobSizes)
    .NumInputs(0)
    .NumOutputs(2)
    .TensorInferenceFunction(InferNamesAndSizes)
    .SetDoc(R"DOC(
Estimates the number of bytes that Save would write for each blob of the workspace, from type and
shape alone: close for numbers, rough for strings, 0 for blobs that are neither tensors nor strings.
)DOC")
    .Arg<int>("include_shared", "1 (default): blobs of parent workspaces, too; 0: its own only.")
    .Arg<std::string>("options", "As for Save.")
    .Output(0, "blob_names", "Strings [number of blobs], sorted; the outputs are two of them.")
    .Output(1, "blob_sizes", "Bytes, int64 [number of blobs].")
    .CpuOnly(cpu_only::kWorkspace);
NO_GRADIENT(EstimateAllBlobSizes);

}  // namespace caffe2
