#include <cmath>

#include "operators/common/copy_elements.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

template <class Context>
class NanCheckOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(NanCheckOp);

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const float* x = X.data<float>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      if (!std::isfinite(x[i])) Report(i);
    }
    CopyTensor(X, Output(0), &context_);
    return true;
  }

 private:
  // The other inputs are the tensors that the checked one was computed from. The error shows them.
  [[noreturn]] void Report(int64_t index) const {
    std::string text;
    for (int k = 0; k < InputSize(); ++k) {
      text += MakeString(k == 0 ? "" : "; ", debug_def().input(k), " ", Input(k).DebugString());
    }
    CAFFE_THROW("element ", index, " is ", Input(0).template data<float>()[index], ": ", text);
  }
};

class GetNanCheckGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("NanCheck", "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(NanCheck, NanCheckOp<CPUContext>);
OPERATOR_SCHEMA(NanCheck)
    .NumInputs(1, std::numeric_limits<int>::max())
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Passes the first input on, and fails if it holds a NaN or an infinity. The gradient "
        "is checked in the same way.")
    .Input(0, "tensor", "The float tensor to check; further inputs are named in the error.")
    .Output(0, "output", "The same values.")
    .CpuOnly(cpu_only::kEndsRun);
REGISTER_GRADIENT(NanCheck, GetNanCheckGradient);

}  // namespace caffe2
