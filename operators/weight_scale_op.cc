// WeightScale: a parameter multiplied every so many iterations.
#include <limits>

#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

class WeightScaleOp final : public Operator<CPUContext> {
 public:
  WeightScaleOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        stepsize_(GetSingleArgument<int64_t>("stepsize", std::numeric_limits<int64_t>::max())),
        end_(GetSingleArgument<int64_t>("upper_bound_iter", std::numeric_limits<int64_t>::max())),
        scale_(GetSingleArgument<float>("scale", 1.f)) {
    CAFFE_ENFORCE_GE(stepsize_, 1, "the argument stepsize");
  }
  bool RunOnDevice() override {
    const Tensor &w = Input(0), &counter = Input(1);
    CAFFE_ENFORCE_EQ(counter.numel(), 1, "the iteration counter has one element");
    const int64_t iteration = *counter.data<int64_t>() + 1;
    const float factor = iteration % stepsize_ == 0 && iteration < end_ ? scale_ : 1.f;
    const float* from = w.data<float>();
    Output(0)->ResizeLike(w);
    float* to = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < w.numel(); ++i) to[i] = from[i] * factor;
    return true;
  }

 private:
  int64_t stepsize_, end_;
  float scale_;
};

}  // namespace

REGISTER_CPU_OPERATOR(WeightScale, WeightScaleOp);
OPERATOR_SCHEMA(WeightScale)
    .NumInputs(2)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Multiplies a parameter by `scale` whenever iter + 1 is a multiple of stepsize and below "
        "upper_bound_iter; else copies it.")
    .Arg("stepsize", "(int > 0, default: never) Iterations between two scalings.")
    .Arg("upper_bound_iter", "(int, default: no end) The first iteration + 1 without scaling.")
    .Arg("scale", "(float, default 1) The factor.")
    .Input(0, "w", "Float parameter.")
    .Input(1, "iter", "The iteration, one int64.")
    .Output(0, "nw", "The parameter, scaled or not; may overwrite it.");
NO_GRADIENT(WeightScale);

}  // namespace caffe2
