// ThrowException and Fail: operators that fail, to test executors.
#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

class ThrowExceptionOp final : public Operator<CPUContext> {
 public:
  ThrowExceptionOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        message_(GetSingleArgument<std::string>("message", "Exception from ThrowException")) {}

  bool RunOnDevice() override { CAFFE_THROW(message_); }

 private:
  std::string message_;
};

class FailOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override { return false; }
};

}  // namespace

REGISTER_CPU_OPERATOR(ThrowException, ThrowExceptionOp);
REGISTER_CPU_OPERATOR(Fail, FailOp);

OPERATOR_SCHEMA(ThrowException)
    .NumInputs(0)
    .NumOutputs(0)
    .SetDoc("Throws an exception when it runs.")
    .Arg<std::string>("message", "The text of the exception.")
    .CpuOnly("it fails on purpose");
OPERATOR_SCHEMA(Fail)
    .NumInputs(0)
    .NumOutputs(0)
    .SetDoc("Returns false when it runs: a net then fails without an exception.")
    .CpuOnly("it fails on purpose");
NO_GRADIENT(ThrowException);
NO_GRADIENT(Fail);

}  // namespace caffe2
