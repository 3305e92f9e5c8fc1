// Mod: the rest of a division.
#include "operators/element_type.h"

namespace caffe2 {
namespace {

class ModOp final : public Operator<CPUContext> {
 public:
  ModOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        divisor_(GetSingleArgument<int64_t>("divisor", 0)),
        follow_divisor_(GetSingleArgument<bool>("sign_follow_divisor", false)) {
    CAFFE_ENFORCE_NE(divisor_, 0, "the argument divisor");
  }
  bool RunOnDevice() override { return IntegerTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const T* x = Input(0).data<T>();
    Output(0)->ResizeLike(Input(0));
    T* y = Output(0)->mutable_data<T>();
    for (int64_t i = 0; i < Input(0).numel(); ++i) {
      int64_t rest = divisor_ == -1 ? 0 : int64_t{x[i]} % divisor_;  // the least int64 % -1 traps
      if (follow_divisor_ && rest != 0 && (rest < 0) != (divisor_ < 0)) rest += divisor_;
      y[i] = static_cast<T>(rest);
    }
    return true;
  }

 private:
  int64_t divisor_;
  bool follow_divisor_;
};

}  // namespace

REGISTER_CPU_OPERATOR(Mod, ModOp);
OPERATOR_SCHEMA(Mod)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("The rest of a division. It has the sign of the dividend, or of the divisor if asked.")
    .Arg("divisor", "(int, not 0) The divisor.", true)
    .Arg("sign_follow_divisor", "(bool, default 0) 1: as in Python.")
    .Input(0, "DATA", "int32 or int64, of any shape.")
    .Output(0, "OUTPUT", "The rests, of the same type and shape.");
NO_GRADIENT(Mod);

}  // namespace caffe2
