#include <limits>

#include "operators/elementwise/elementwise_ops.h"

namespace caffe2 {
namespace {

// NaN stays NaN.
class ClipFunctor {
 public:
  explicit ClipFunctor(const OperatorBase& op)
      : min_(op.GetSingleArgument<float>("min", std::numeric_limits<float>::lowest())),
        max_(op.GetSingleArgument<float>("max", std::numeric_limits<float>::max())) {
    CAFFE_ENFORCE_LE(min_, max_, "the arguments min and max leave nothing");
  }
  template <typename T>
  T operator()(T x) const {
    return x < min_ ? static_cast<T>(min_) : x > max_ ? static_cast<T>(max_) : x;
  }

 protected:
  float min_, max_;
};

// dX from Y and dY: nothing passes where Y lies on a bound.
class ClipGradientFunctor : ClipFunctor {
 public:
  using ClipFunctor::ClipFunctor;
  template <typename T>
  T operator()(T y, T dy) const {
    return y > min_ && y < max_ ? dy : T(0);
  }
};

class GetClipGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("ClipGradient", "", std::vector<std::string>{O(0), GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

void DescribeBounds(OpSchema& schema) {
  schema.Arg("min", "Lower bound. Default: the lowest float.")
      .Arg("max", "Upper bound. Default: the highest float.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Clip, UnaryElementwiseOp<FloatTypes, CPUContext, CpuUnary<ClipFunctor>>);
REGISTER_CPU_OPERATOR(ClipGradient,
                      BinaryElementwiseOp<FloatTypes, CPUContext, CpuBinary<ClipGradientFunctor>>);

OPERATOR_SCHEMA(Clip)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("Limits every element to [min, max].")
    .FillUsing(DescribeBounds)
    .Input(0, "X", "A floating-point tensor of any shape.")
    .Output(0, "Y", "The limited values.");
OPERATOR_SCHEMA(ClipGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .AllowInplace({{1, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Gradient of Clip: dX = dY where min < Y < max, 0 elsewhere.")
    .FillUsing(DescribeBounds)
    .Input(0, "Y", "Output of Clip.")
    .Input(1, "dY", "Its gradient.")
    .Output(0, "dX", "Gradient of the input of Clip.");
REGISTER_GRADIENT(Clip, GetClipGradient);

}  // namespace caffe2
