// MultiMomentumSGDUpdate: MomentumSGDUpdate of many parameters, with weight decay.
#pragma once

#include <algorithm>
#include <vector>

#include "caffe2/core/operator.h"
#include "operators/momentum_sgd_op.h"

namespace caffe2 {

// Blocks of parameters are laid out so that tensors begin at multiples of this many elements, and
// end with as much room.
constexpr int64_t kFlatAlignment = 64;

template <class Context>
class MultiMomentumSgdOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MultiMomentumSgdOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        factors_(*this),
        tensors_(InputSize() / 3),
        decay_(this->template GetRepeatedArgument<float>("weight_decay")) {
    CAFFE_ENFORCE_EQ(InputSize(), 3 * tensors_ + 1, "inputs of MultiMomentumSGDUpdate");
    if (decay_.empty()) decay_.assign(tensors_, 0.f);
    CAFFE_ENFORCE_EQ(static_cast<int>(decay_.size()), tensors_,
                     "MultiMomentumSGDUpdate: one weight_decay for each parameter");
  }

  bool RunOnDevice() override {
    updates_.resize(tensors_);
    for (int i = 0; i < tensors_; ++i) {
      const Tensor &grad = Input(i), &moment = Input(tensors_ + i),
                   &param = Input(2 * tensors_ + 1 + i);
      CheckOptimizerState(param, grad, "gradient");
      CheckOptimizerState(param, moment, "momentum");
      Tensor *moment_out = Output(i), *param_out = Output(tensors_ + i);
      updates_[i] = {param.numel(), decay_[i], grad.template data<float>(),
                     moment.template data<float>(), param.template data<float>()};
      moment_out->ResizeLike(moment);
      param_out->ResizeLike(param);
      updates_[i].moment_out = moment_out->template mutable_data<float>();
      updates_[i].param_out = param_out->template mutable_data<float>();
    }
    Update(this->template Input<Tensor>(2 * tensors_));
    return true;
  }

 private:
  struct One {
    int64_t n = 0;
    float decay = 0;
    const float *grad = nullptr, *moment = nullptr, *param = nullptr;
    float *moment_out = nullptr, *param_out = nullptr;
  };

  void Update(const Tensor& lr);

  // True if the gradients, momenta and parameters are views of three blocks at equal, aligned
  // offsets, in place and in order.
  bool IsFlat() const {
    const One& first = updates_[0];
    int64_t end = 0;
    for (const One& one : updates_) {
      const int64_t offset = one.param - first.param;
      const bool fits = offset % kFlatAlignment == 0 && offset >= end &&
                        offset < end + kFlatAlignment && one.grad - first.grad == offset &&
                        one.moment - first.moment == offset && one.param_out == one.param &&
                        one.moment_out == one.moment;
      if (!fits) return false;
      end = offset + one.n;
    }
    return true;
  }

  MomentumFactors factors_;
  const int tensors_;
  std::vector<float> decay_;         // of each parameter
  std::vector<One> updates_;         // of the current run
  Tensor table_{context_.device()};  // CUDA: the decay of every kFlatAlignment elements
  bool warned_ = false;
};

}  // namespace caffe2
