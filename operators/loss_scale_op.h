// Loss scaling: gradients of float16 activations are kept in range by a factor on the loss, which
// the parameters' gradients are divided by again.
#pragma once

#include <vector>

#include "operators/element_type.h"
#include "operators/loss_scale_rule.h"

namespace caffe2 {

// scale, gradients -> found_inf, the gradients divided by the scale, in place.
template <class Context>
class CheckFiniteAndUnscaleOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CheckFiniteAndUnscaleOp);

  bool RunOnDevice() override {
    return TensorTypes<float, float16, bfloat16>::Dispatch(this, Input(1).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    CAFFE_ENFORCE_EQ(Input(0).numel(), 1, "the loss scale must be a scalar");
    gradients_.clear();
    for (int i = 1; i < InputSize(); ++i) {
      gradients_.push_back({Input(i).numel(), Output(i)->template mutable_data<T>()});
    }
    Output(0)->Resize(1);
    Unscale<T>(Input(0).template data<float>(), Output(0)->template mutable_data<float>());
    return true;
  }

 private:
  struct Array {
    int64_t size;
    void* data;
  };
  // Divides gradients_, arrays of T, by *scale; *found_inf = 1 if a quotient is not finite, else 0.
  template <typename T>
  void Unscale(const float* scale, float* found_inf);

  std::vector<Array> gradients_;
};

// scale, good_steps, found_inf -> scale, good_steps.
template <class Context>
class UpdateLossScaleOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  UpdateLossScaleOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        rule_{this->template GetSingleArgument<float>("growth_factor", 2.f),
              this->template GetSingleArgument<float>("backoff_factor", 0.5f),
              this->template GetSingleArgument<int>("growth_interval", 2000)} {
    CAFFE_ENFORCE_GE(rule_.growth_factor, 1.f);
    CAFFE_ENFORCE(rule_.backoff_factor > 0 && rule_.backoff_factor < 1, "backoff_factor is ",
                  rule_.backoff_factor);
    CAFFE_ENFORCE_GT(rule_.growth_interval, 0);
  }

  bool RunOnDevice() override {
    for (int i = 0; i < 3; ++i) CAFFE_ENFORCE_EQ(Input(i).numel(), 1, "input ", i, " is a scalar");
    const float *scale = Input(0).template data<float>(),
                *found_inf = Input(2).template data<float>();
    const int32_t* good_steps = Input(1).template data<int32_t>();
    Output(0)->Resize(1);
    Output(1)->Resize(1);
    Update(found_inf, scale, good_steps, Output(0)->template mutable_data<float>(),
           Output(1)->template mutable_data<int32_t>());
    return true;
  }

 private:
  void Update(const float* found_inf, const float* scale, const int32_t* good_steps,
              float* scale_out, int32_t* good_steps_out);

  const LossScaleRule rule_;
};

}  // namespace caffe2
