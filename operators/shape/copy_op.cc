// Copies between blobs and between devices. On the CPU all of these operators simply copy.
#include "operators/common/copy_elements.h"

namespace caffe2 {
namespace {

void DescribeCopy(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .IdenticalTypeAndShape()
      .Input(0, "input", "A tensor of any type and shape.")
      .Output(0, "output", "Its copy.");
}

// The gradient goes back to the device of the input.
class GetCopyGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("CopyOnDeviceLike", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};
class GetAliasGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    SetDense(0, GO(0));
    return {};
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Copy, CopyOp<CPUContext>);
REGISTER_CPU_OPERATOR(CopyFromCPUInput, CopyOp<CPUContext>);
REGISTER_CPU_OPERATOR(CopyOnDeviceLike, CopyOp<CPUContext>);
REGISTER_CPU_OPERATOR(EnsureCPUOutput, CopyOp<CPUContext>);
REGISTER_CPU_OPERATOR(Alias, AliasOp<CPUContext>);
REGISTER_CPU_OPERATOR(AliasWithName, AliasOp<CPUContext>);

OPERATOR_SCHEMA(Copy)
    .FillUsing(DescribeCopy)
    .InputsCanCrossDevices()
    .SetDoc("Copies the input to the output, on the operator's device.");
OPERATOR_SCHEMA(CopyFromCPUInput)
    .FillUsing(DescribeCopy)
    .InputsCanCrossDevices()
    .SetDoc("Copies an input in host memory to the operator's device.");
OPERATOR_SCHEMA(CopyCPUToGPU)
    .FillUsing(DescribeCopy)
    .InputsCanCrossDevices()
    .SetDoc("Copies an input in host memory to the operator's GPU.");
OPERATOR_SCHEMA(CopyGPUToCPU)
    .FillUsing(DescribeCopy)
    .InputsCanCrossDevices()
    .SetDoc("Copies an input on the operator's GPU to host memory, and waits for the copy.");
OPERATOR_SCHEMA(CopyOnDeviceLike)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .InputsCanCrossDevices()
    .SetDoc("Copies the input to the device of another tensor.")
    .Input(0, "input", "A tensor of any type and shape.")
    .Input(1, "dst", "A tensor on the device; its values are not read.")
    .Output(0, "output", "The copy.");
OPERATOR_SCHEMA(EnsureCPUOutput)
    .FillUsing(DescribeCopy)
    .InputsCanCrossDevices()
    .SetDoc("Copies an input on any device to host memory.");
OPERATOR_SCHEMA(Alias)
    .FillUsing(DescribeCopy)
    .AllowInplace({{0, 0}})
    .SetDoc(
        "Lets the output share the data of the input, without a copy. Writes to one change both, "
        "as long as neither is resized.");
OPERATOR_SCHEMA(AliasWithName)
    .FillUsing(DescribeCopy)
    .AllowInplace({{0, 0}})
    .SetDoc("Alias, with a name for readers of the net.")
    .Arg("name", "The name; not read.")
    .Arg("is_backward", "Whether the blob belongs to the backward pass; not read.");

REGISTER_GRADIENT(Copy, GetCopyGradient);
REGISTER_GRADIENT(CopyFromCPUInput, GetCopyGradient);
REGISTER_GRADIENT(CopyCPUToGPU, GetCopyGradient);
REGISTER_GRADIENT(CopyGPUToCPU, GetCopyGradient);
REGISTER_GRADIENT(CopyOnDeviceLike, GetCopyGradient);
REGISTER_GRADIENT(EnsureCPUOutput, GetCopyGradient);
REGISTER_GRADIENT(Alias, GetAliasGradient);
REGISTER_GRADIENT(AliasWithName, GetAliasGradient);

}  // namespace caffe2
