// MultiMomentumSGDUpdate, MultiAdam, MultiAdagrad and MultiRmsProp: the updates of many parameters
// as one operator, with weight decay, the division by a loss scale and 16-bit copies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operators/optimizer/adagrad_op.h"
#include "operators/optimizer/adam_op.h"
#include "operators/optimizer/momentum_sgd_op.h"
#include "operators/optimizer/rmsprop_op.h"

namespace caffe2 {

// In blocks of parameters, tensors begin at multiples of this number of elements, and the number of
// elements of the block is a multiple of it.
constexpr int64_t kFlatAlignment = 64;

// The operands of one run of a MultiUpdateOp.
template <class Rule>
struct MultiUpdateRun {
  struct Part {
    int64_t n = 0;
    float decay = 0;
    const void* grad = nullptr;  // of the run's type
    const float* param = nullptr;
    const float* state[Rule::kStates] = {};
    float* param_out = nullptr;
    float* state_out[Rule::kStates] = {};
    void* copy = nullptr;  // of 16-bit elements, or null
  };

  Rule rule;
  const Tensor *lr = nullptr, *iter = nullptr;  // iter: for rules with a correction
  const float *found_inf = nullptr, *scale = nullptr;
  std::vector<Part> parts = {};
  TypeMeta copy_type = {};
  TypeMeta grad_type = {};  // float, or a 16-bit type
  Tensor decays;            // CUDA: one for every kFlatAlignment elements
  bool warned = false;      // CUDA: has warned that the parts are not flat

  // The start of the block of copies, computed from a part with a copy; null if no part has one.
  const char* CopyBlock() const {
    for (const Part& part : parts) {
      if (part.copy == nullptr) continue;
      return static_cast<const char*>(part.copy) -
             (part.param - parts[0].param) * static_cast<int64_t>(copy_type.itemsize());
    }
    return nullptr;
  }

  static bool IsAligned(const void* block) { return reinterpret_cast<uintptr_t>(block) % 16 == 0; }

  // True if gradients, states, parameters and copies are views of one block each, at equal offsets
  // that ascend and are multiples of kFlatAlignment, the blocks are aligned to 16 bytes, and the
  // update is in place.
  bool IsFlat() const {
    const Part& first = parts[0];
    const char* copies = CopyBlock();
    if (!IsAligned(first.param) || !IsAligned(first.grad) || !IsAligned(copies)) return false;
    for (const float* state : first.state) {
      if (!IsAligned(state)) return false;
    }
    int64_t end = 0;
    for (const Part& part : parts) {
      const int64_t offset = part.param - first.param;
      bool fits = offset % kFlatAlignment == 0 && offset >= end && offset < end + kFlatAlignment &&
                  part.param_out == part.param &&
                  static_cast<const char*>(part.grad) - static_cast<const char*>(first.grad) ==
                      offset * static_cast<int64_t>(grad_type.itemsize());
      for (int s = 0; s < Rule::kStates; ++s) {
        fits =
            fits && part.state[s] - first.state[s] == offset && part.state_out[s] == part.state[s];
      }
      if (part.copy != nullptr) {
        fits = fits && static_cast<const char*>(part.copy) - copies ==
                           offset * static_cast<int64_t>(copy_type.itemsize());
      }
      if (!fits) return false;
      end = offset + part.n;
    }
    return true;
  }
};

// Runs the update. The overload for CUDAContext is in multi_update_op_cuda.cc.
template <class Rule>
void RunUpdates(MultiUpdateRun<Rule>* run, const OperatorBase* op, CPUContext* context);

// gradients, states (all of the first kind, then of the second), lr, [iter], parameters,
// [found_inf, [scale]] -> states, parameters, copies.
template <class Context, class Rule>
class MultiUpdateOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MultiUpdateOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        count_((InputSize() - kControlScalars) / (kStates + 2)),
        flags_((InputSize() - kControlScalars) % (kStates + 2)),
        decay_(this->template GetRepeatedArgument<float>("weight_decay")),
        copied_(this->template GetRepeatedArgument<int>("copied")),
        run_{.rule = ReadRule<Rule>(*this), .decays = Tensor(context_.device())} {
    CAFFE_ENFORCE(count_ > 0 && flags_ <= 2, this->type(), " cannot divide its ", InputSize(),
                  " inputs among parameters");
    if (decay_.empty()) decay_.assign(count_, 0.f);
    CAFFE_ENFORCE(static_cast<int>(decay_.size()) == count_, this->type(),
                  " needs one weight_decay for each of the ", count_, " parameters, found ",
                  decay_.size());
    CAFFE_ENFORCE(OutputSize() == (kStates + 1) * count_ + static_cast<int>(copied_.size()),
                  this->type(), " needs ",
                  (kStates + 1) * count_ + static_cast<int>(copied_.size()), " outputs, found ",
                  OutputSize());
    for (const int i : copied_) {
      CAFFE_ENFORCE(i >= 0 && i < count_, this->type(), " is to copy parameter ", i, ", but has ",
                    count_, " parameters");
    }
    const int copy_type = this->template GetSingleArgument<int>("copy_type", TensorProto::FLOAT16);
    CAFFE_ENFORCE(copy_type == TensorProto::FLOAT16 || copy_type == TensorProto::BFLOAT16,
                  "argument copy_type must be FLOAT16 or BFLOAT16, found ", copy_type);
    run_.copy_type =
        copy_type == TensorProto::FLOAT16 ? TypeMeta::Make<float16>() : TypeMeta::Make<bfloat16>();
  }

  bool RunOnDevice() override {
    const int params = (kStates + 1) * count_ + kControlScalars, flags = params + count_;
    run_.parts.assign(count_, {});
    run_.grad_type = Input(0).dtype();
    for (int i = 0; i < count_; ++i) {
      const Tensor &param = Input(params + i), &grad = Input(i);
      CheckGradient(param, grad);
      auto& part = run_.parts[i];
      part.n = param.numel();
      part.decay = decay_[i];
      part.grad = grad.raw_data();
      for (int s = 0; s < kStates; ++s) {
        const Tensor& state = Input((s + 1) * count_ + i);
        CheckOptimizerState(param, state, Rule::kStateNames[s]);
        part.state[s] = state.template data<float>();
        part.state_out[s] = Like(state, s * count_ + i);
      }
      part.param = param.template data<float>();
      part.param_out = Like(param, kStates * count_ + i);
    }
    for (size_t k = 0; k < copied_.size(); ++k) {
      Tensor* copy = Output((kStates + 1) * count_ + static_cast<int>(k));
      copy->ResizeLike(Input(params + copied_[k]));
      run_.parts[copied_[k]].copy = copy->raw_mutable_data(run_.copy_type);
    }
    run_.lr = &this->template Input<Tensor>(params - kControlScalars);
    run_.iter = CorrectedRule<Rule> ? &this->template Input<Tensor>(params - 1) : nullptr;
    run_.found_inf = flags_ > 0 ? FoundInf(this, flags) : nullptr;
    if (flags_ > 1) {
      const Tensor& scale = Input(flags + 1);
      CAFFE_ENFORCE(scale.numel() == 1, "the scale must have one element, found ", scale.numel());
      run_.scale = scale.data<float>();
    }
    RunUpdates(&run_, this, &context_);
    return true;
  }

 private:
  static constexpr int kStates = Rule::kStates;
  static constexpr int kControlScalars = CorrectedRule<Rule> ? 2 : 1;

  void CheckGradient(const Tensor& param, const Tensor& grad) const {
    CAFFE_ENFORCE(grad.has_data() && grad.sizes() == param.sizes(),
                  "a gradient must have the shape of its parameter: the gradient is ",
                  grad.DebugString(), ", the parameter ", param.DebugString());
    const bool narrow = grad.IsType<float16>() || grad.IsType<bfloat16>();
    CAFFE_ENFORCE(grad.dtype() == run_.grad_type && (narrow || grad.template IsType<float>()),
                  "all gradients of ", this->type(), " must have one type, found ",
                  grad.DebugString());
  }

  float* Like(const Tensor& input, int output) {
    Output(output)->ResizeLike(input);
    return Output(output)->template mutable_data<float>();
  }

  const int count_, flags_;
  std::vector<float> decay_;  // of each parameter
  const std::vector<int> copied_;
  MultiUpdateRun<Rule> run_;
};

}  // namespace caffe2
