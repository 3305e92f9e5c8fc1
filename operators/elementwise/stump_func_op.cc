// StumpFunc, StumpFuncIndex: tell on which side of a threshold elements are.
#include "operators/elementwise/stump_func_op.h"

#include <algorithm>

#include "operators/common/cpu_only.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {
namespace {

class StumpFuncIndexOp final : public Operator<CPUContext> {
 public:
  StumpFuncIndexOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), threshold_(GetSingleArgument<float>("threshold", 0)) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const float* x = X.data<float>();
    std::vector<int64_t> places[2];
    for (int64_t i = 0; i < X.numel(); ++i) places[x[i] <= threshold_ ? 0 : 1].push_back(i);
    for (int side = 0; side < 2; ++side) {
      Output(side)->Resize(static_cast<int64_t>(places[side].size()));
      std::copy(places[side].begin(), places[side].end(), Output(side)->mutable_data<int64_t>());
    }
    return true;
  }

 private:
  const float threshold_;
};

}  // namespace

StumpFunction::StumpFunction(const OperatorBase& op)
    : threshold(op.GetSingleArgument<float>("threshold", 0)),
      low(op.GetSingleArgument<float>("low_value", 0)),
      high(op.GetSingleArgument<float>("high_value", 0)) {}

REGISTER_CPU_OPERATOR(StumpFunc, UnaryOp<CPUContext, StumpFunction, TensorTypes<float>>);
REGISTER_CPU_OPERATOR(StumpFuncIndex, StumpFuncIndexOp);
OPERATOR_SCHEMA(StumpFunc)
    .FillUsing(UnarySchema)
    .SetDoc("Replaces each element by one of two values: low_value where it is at most threshold.")
    .Arg<float>("threshold", "Default 0.")
    .Arg<float>("low_value", "Default 0.")
    .Arg<float>("high_value", "Default 0.")
    .Input(0, "X", "A float tensor of any shape.");
OPERATOR_SCHEMA(StumpFuncIndex)
    .NumInputs(1)
    .NumOutputs(2)
    .SetDoc("The places of the elements that are at most threshold, and of the others, in order.")
    .Arg<float>("threshold", "Default 0.")
    .Input(0, "X", "A float tensor, numbered as it lies in memory.")
    .Output(0, "Index_Low", "int64; how many is known at run time only.")
    .Output(1, "Index_High", "int64: the other ones.")
    .CpuOnly(cpu_only::kRecordFeatures);
NO_GRADIENT(StumpFunc);
NO_GRADIENT(StumpFuncIndex);

}  // namespace caffe2
