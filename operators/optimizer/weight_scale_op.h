// WeightScale: multiplies a float parameter by `scale` every `stepsize` iterations below
// upper_bound_iter, else copies it. w, iteration -> w.
#pragma once

#include <limits>

#include "operators/common/host_device_op.h"
#include "operators/common/shape_input.h"
#include "operators/elementwise/scale_op.h"

namespace caffe2 {

template <class Context>
class WeightScaleOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  WeightScaleOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        stepsize_(Argument("stepsize")),
        end_(Argument("upper_bound_iter")),
        scale_(this->template GetSingleArgument<float>("scale", 1.f)) {
    CAFFE_ENFORCE(stepsize_ >= 1, "argument stepsize must be at least 1, found ", stepsize_);
  }
  bool RunOnDevice() override {
    const Tensor& w = Input(0);
    const int64_t iteration =
        ReadInteger(this->template Input<Tensor>(1), "the iteration counter") + 1;
    const float factor = iteration % stepsize_ == 0 && iteration < end_ ? scale_ : 1.f;
    const float* from = w.data<float>();
    Output(0)->ResizeLike(w);
    MapElements(ScaleFunction(factor), w.numel(), &context_,
                Output(0)->template mutable_data<float>(), from);
    return true;
  }

 private:
  int64_t Argument(const char* name) const {
    return this->template GetSingleArgument<int64_t>(name, std::numeric_limits<int64_t>::max());
  }

  int64_t stepsize_, end_;
  float scale_;
};

}  // namespace caffe2
