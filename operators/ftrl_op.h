// Ftrl: follow the regularized leader, for sparse parameters (McMahan et al., KDD 2013).
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

struct FtrlArguments {
  explicit FtrlArguments(const OperatorBase& op)
      : alpha(op.GetSingleArgument<float>("alpha", 0.005f)),
        beta(op.GetSingleArgument<float>("beta", 1.f)),
        lambda1(op.GetSingleArgument<float>("lambda1", 0.001f)),
        lambda2(op.GetSingleArgument<float>("lambda2", 0.001f)) {}
  float alpha, beta, lambda1, lambda2;
};

// The update of n elements w with gradients g and state (n and z of each in turn) on the host.
// Outputs may be the memory of inputs. Throws unless alpha > 0.
void FtrlUpdate(int64_t n, const FtrlArguments& arguments, float alpha, const float* w,
                const float* state, const float* g, float* w_out, float* state_out);

// Arguments but lambda1, inputs and outputs of the operators of this family.
void DescribeFtrl(OpSchema& schema);

template <class Context>
class FtrlOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FtrlOp(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws), arguments_(*this) {}
  bool RunOnDevice() override;

 private:
  enum { VAR, N_Z, GRAD, ALPHA };
  enum { VAR_OUT, N_Z_OUT };
  FtrlArguments arguments_;
};

}  // namespace caffe2
