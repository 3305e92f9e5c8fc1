// Adam: gradient descent with adaptive moments (Kingma & Ba, ICLR 2015).
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

struct AdamArguments {
  explicit AdamArguments(const OperatorBase& op)
      : beta1(op.GetSingleArgument<float>("beta1", 0.9f)),
        beta2(op.GetSingleArgument<float>("beta2", 0.999f)),
        epsilon(op.GetSingleArgument<float>("epsilon", 1e-5f)) {}
  float beta1, beta2, epsilon;
};

// What the updates of one run have in common.
struct AdamFactors {
  AdamArguments arguments;
  float correction;  // AdamCorrection
  float lr;
};
// sqrt(1 - beta2^t) / (1 - beta1^t), with t = iter + 1.
float AdamCorrection(float beta1, float beta2, int64_t iter);
// `iter`: int64 of one element, on the host.
AdamFactors MakeAdamFactors(const AdamArguments& arguments, const Tensor& iter, float lr);

// Rectified Adam (Liu et al., 2019): step t (from 1) is `factor` times the first moment, and where
// the variance of the second moment is tractable divided by its root.
struct AdamRectification {
  bool tractable = false;
  float factor = 0;
};
AdamRectification RectifyAdam(const AdamArguments& arguments, int64_t t);

// The update of n elements on the host. Outputs may be the memory of inputs, element by element.
// step_out may be null.
void AdamUpdate(int64_t n, const AdamFactors& factors, const float* param, const float* moment_1,
                const float* moment_2, const float* grad, float* param_out, float* moment_1_out,
                float* moment_2_out, float* step_out);

template <class Context>
class AdamOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AdamOp(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws), arguments_(*this) {}
  bool RunOnDevice() override;

 private:
  enum { PARAM, MOMENT_1, MOMENT_2, GRAD, LR, ITER, FOUND_INF };
  enum { PARAM_OUT, MOMENT_1_OUT, MOMENT_2_OUT, GRAD_OUT };
  AdamArguments arguments_;
};

}  // namespace caffe2
