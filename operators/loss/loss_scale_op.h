// Loss scaling (Micikevicius et al., "Mixed precision training", 2018): a factor on the loss keeps
// the gradients of float16 activations in range. The gradients of parameters are divided by the
// same factor.
#pragma once

#include <vector>

#include "operators/common/element_type.h"
#include "operators/loss/loss_scale_rule.h"

namespace caffe2 {

// CheckFiniteAndUnscale: scale, gradients -> found_inf, and the gradients divided by the scale, in
// place. CheckFinite (kUnscale is false) leaves the gradients unchanged: scale, gradients ->
// found_inf, scale. found_inf is one float: 1 if a quotient is not finite, else 0.
template <class Context, bool kUnscale = true>
class CheckFiniteAndUnscaleOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CheckFiniteAndUnscaleOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), flat_(this->template GetSingleArgument<bool>("flat", false)) {}

  bool RunOnDevice() override {
    CAFFE_ENFORCE(Input(0).numel() == 1, "the loss scale must have one element, found ",
                  Input(0).numel());
    Output(0)->Resize(1);
    const float* scale = Input(0).template data<float>();
    float* found_inf = Output(0)->template mutable_data<float>();
    if (!kUnscale) {
      Output(1)->Resize(1);
      context_.Copy(1, scale, Output(1)->template mutable_data<float>());
    }
    Clear(found_inf);
    const int done = UnscaleThose<float>(scale, found_inf) +
                     UnscaleThose<float16>(scale, found_inf) +
                     UnscaleThose<bfloat16>(scale, found_inf);
    CAFFE_ENFORCE(done == InputSize() - 1,
                  "all gradients must be float, float16 or bfloat16, found ",
                  InputSize() - 1 - done, " of another type");
    return true;
  }

 private:
  struct Array {
    int64_t size;
    void* data;
  };
  static constexpr int64_t kPlace = 64;  // elements: `flat` gradients begin at multiples

  // Handles the gradients of type T. Returns their number.
  template <typename T>
  int UnscaleThose(const float* scale, float* found_inf) {
    gradients_.clear();
    int count = 0;
    for (int i = 1; i < InputSize(); ++i) {
      if (!Input(i).template IsType<T>()) continue;
      ++count;
      // The data is written only if it is also output i.
      T* data = const_cast<T*>(Input(i).template data<T>());
      T* end = gradients_.empty()
                   ? nullptr
                   : static_cast<T*>(gradients_.back().data) + gradients_.back().size;
      if (flat_ && end != nullptr && data == NextPlace<T>(gradients_.back())) {
        gradients_.back().size += data - end + Input(i).numel();
      } else {
        gradients_.push_back({Input(i).numel(), data});
      }
    }
    if (count > 0) Unscale<T>(scale, found_inf);
    return count;
  }

  // The address at which the tensor after `block` begins in a flat array.
  template <typename T>
  static T* NextPlace(const Array& block) {
    return static_cast<T*>(block.data) + (block.size + kPlace - 1) / kPlace * kPlace;
  }

  void Clear(float* found_inf);  // *found_inf = 0
  // Divides gradients_, arrays of T, by *scale, if kUnscale; *found_inf = 1 if a quotient is not
  // finite.
  template <typename T>
  void Unscale(const float* scale, float* found_inf);

  const bool flat_;
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
    CAFFE_ENFORCE(rule_.growth_factor >= 1.f, "argument growth_factor must be at least 1, found ",
                  rule_.growth_factor);
    CAFFE_ENFORCE(rule_.backoff_factor > 0 && rule_.backoff_factor < 1,
                  "argument backoff_factor must be more than 0 and less than 1, found ",
                  rule_.backoff_factor);
    CAFFE_ENFORCE(rule_.growth_interval > 0, "argument growth_interval must be positive, found ",
                  rule_.growth_interval);
  }

  bool RunOnDevice() override {
    for (int i = 0; i < 3; ++i) {
      CAFFE_ENFORCE(Input(i).numel() == 1, "input ", i, " must have one element, found ",
                    Input(i).numel());
    }
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
