// ClipByGlobalNorm: scales gradients down by one factor if the L2 norm of all their elements
// exceeds max_norm (Pascanu et al., ICML 2013). Float gradients -> the same blobs, norm before
// scaling (one float).
#pragma once

#include <vector>

#include "operators/optimizer/optimizer_check.h"

namespace caffe2 {

// A gradient that is clipped in place.
struct ClippedArray {
  int64_t size;
  float* data;
};

// Writes the L2 norm of all elements of the arrays to *norm. If it is finite and exceeds max_norm,
// multiplies all elements by max_norm / *norm. `scratch` keeps memory between calls.
template <class Context>
void ClipByGlobalNorm(const std::vector<ClippedArray>& arrays, float max_norm, float* norm,
                      Tensor* scratch, Context* context);

template <class Context>
class ClipByGlobalNormOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ClipByGlobalNormOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        max_norm_(this->template GetSingleArgument<float>("max_norm", 0.f)),
        scratch_(context_.device()) {
    CAFFE_ENFORCE(max_norm_ > 0, "argument max_norm must be positive, found ", max_norm_);
  }

  bool RunOnDevice() override {
    arrays_.clear();
    for (int i = 0; i < InputSize(); ++i) {
      arrays_.push_back({Input(i).numel(), UpdatedData<float>(Output(i))});
    }
    Tensor* norm = Output(InputSize());
    norm->Resize(1);
    ClipByGlobalNorm(arrays_, max_norm_, norm->template mutable_data<float>(), &scratch_,
                     &context_);
    return true;
  }

 private:
  const float max_norm_;
  std::vector<ClippedArray> arrays_;
  Tensor scratch_;
};

}  // namespace caffe2
