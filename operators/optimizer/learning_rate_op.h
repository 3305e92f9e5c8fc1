// LearningRate: iteration (int64 of one element, on the host) -> base_lr times the factor of the
// policy, a float scalar.
#pragma once

#include <string>

#include "caffe2/core/operator.h"
#include "operators/optimizer/learning_rate_policy.h"

namespace caffe2 {

template <class Context>
class LearningRateOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LearningRateOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        base_lr_(this->template GetSingleArgument<float>("base_lr", 0.f)),
        iter_offset_(this->template GetSingleArgument<int64_t>("iter_offset", 0)),
        policy_(MakeLearningRatePolicy(this->template GetSingleArgument<std::string>("policy", ""),
                                       "", ArgumentHelper(debug_def()))) {}

  bool RunOnDevice() override {
    const Tensor& counter = Input(0);  // on the host, for operators on any device
    CAFFE_ENFORCE(counter.numel() == 1, "the iteration counter must have one element, found shape ",
                  ShapeString(counter.sizes()));
    const int64_t iteration = *counter.data<int64_t>() + iter_offset_;
    const auto rate = static_cast<float>(base_lr_ * policy_(iteration));
    Tensor* out = Output(0);
    out->Resize();
    context_.Copy(1, &rate, out->template mutable_data<float>());
    return true;
  }

 private:
  float base_lr_;
  int64_t iter_offset_;
  LearningRatePolicy policy_;
};

}  // namespace caffe2
