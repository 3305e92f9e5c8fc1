// Gradients of the functions of unary_math_op.cc.
#include <cmath>

#include "operators/elementwise/elementwise_ops.h"

namespace caffe2 {
namespace {

// dX from X and dY.
struct AbsGradientFunctor {
  template <typename T>
  T operator()(T x, T dy) const {
    return x == T(0) ? T(0) : x > T(0) ? dy : -dy;
  }
};
struct SinGradientFunctor {
  template <typename T>
  T operator()(T x, T dy) const {
    return dy * std::cos(x);
  }
};
struct CosGradientFunctor {
  template <typename T>
  T operator()(T x, T dy) const {
    return -dy * std::sin(x);
  }
};

using Names = std::vector<std::string>;

class GetNegativeGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("Negative", "", Names{GO(0)}, Names{GI(0)});
  }
};

// Rules in terms of the input cannot be used where it was overwritten.
class InputRule : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;

 protected:
  std::string X() const {
    CAFFE_ENFORCE(I(0) != O(0), "the gradient of ", Def().type(),
                  " needs the input, but the output was written in place: ", O(0));
    return I(0);
  }
};

class GetInputGradient final : public InputRule {
 public:
  using InputRule::InputRule;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() + "Gradient", "", Names{X(), GO(0)}, Names{GI(0)});
  }
};
// dX = dY / X.
class GetLogGradient final : public InputRule {
 public:
  using InputRule::InputRule;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("Div", "", Names{GO(0), X()}, Names{GI(0)});
  }
};
// dX = 2 * (dY * X).
class GetSqrGradient final : public InputRule {
 public:
  using InputRule::InputRule;
  std::vector<OperatorDef> GetGradientDefs() override {
    return {CreateOperatorDef("Mul", "", {GO(0), X()}, {GI(0)}),
            CreateOperatorDef("Scale", "", {GI(0)}, {GI(0)}, {MakeArgument("scale", 2.f)})};
  }
};
// dX = dY * Y.
class GetExpGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("Mul", "", Names{O(0), GO(0)}, Names{GI(0)});
  }
};
// dX = 0.5 * (dY / Y).
class GetSqrtGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return {CreateOperatorDef("Div", "", {GO(0), O(0)}, {GI(0)}),
            CreateOperatorDef("Scale", "", {GI(0)}, {GI(0)}, {MakeArgument("scale", 0.5f)})};
  }
};

void DescribeUnaryGradient(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .AllowInplace({{1, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "X", "Input of the forward operator.")
      .Input(1, "dY", "Gradient of its output.")
      .Output(0, "dX", "Gradient of its input.");
}

template <class F>
using UnaryGradient = BinaryElementwiseOp<FloatTypes, CPUContext, CpuBinary<F>>;

}  // namespace

REGISTER_CPU_OPERATOR(AbsGradient, UnaryGradient<AbsGradientFunctor>);
REGISTER_CPU_OPERATOR(SinGradient, UnaryGradient<SinGradientFunctor>);
REGISTER_CPU_OPERATOR(CosGradient, UnaryGradient<CosGradientFunctor>);
OPERATOR_SCHEMA(AbsGradient)
    .FillUsing(DescribeUnaryGradient)
    .SetDoc("Gradient of Abs: dX = dY * sign(X), 0 where X is 0.");
OPERATOR_SCHEMA(SinGradient)
    .FillUsing(DescribeUnaryGradient)
    .SetDoc("Gradient of Sin: dX = dY * cos(X).");
OPERATOR_SCHEMA(CosGradient)
    .FillUsing(DescribeUnaryGradient)
    .SetDoc("Gradient of Cos: dX = -dY * sin(X).");

REGISTER_GRADIENT(Negative, GetNegativeGradient);
REGISTER_GRADIENT(Abs, GetInputGradient);
REGISTER_GRADIENT(Sin, GetInputGradient);
REGISTER_GRADIENT(Cos, GetInputGradient);
REGISTER_GRADIENT(Log, GetLogGradient);
REGISTER_GRADIENT(Sqr, GetSqrGradient);
REGISTER_GRADIENT(Exp, GetExpGradient);
REGISTER_GRADIENT(Sqrt, GetSqrtGradient);
SHOULD_NOT_DO_GRADIENT(Sign);
SHOULD_NOT_DO_GRADIENT(Ceil);
SHOULD_NOT_DO_GRADIENT(Floor);

}  // namespace caffe2
