// YellowFin: momentum SGD that tunes its rate and momentum (Zhang & Mitliagkas, SysML 2019).
#pragma once

#include <cmath>

#include "operators/common/copy_elements.h"
#include "operators/common/shape_input.h"
#include "operators/optimizer/lars_op.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/yellowfin_functions.h"

namespace caffe2 {

template <class Context>
class YellowFinOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  YellowFinOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        window_(this->template GetSingleArgument<int>("curv_win_width", 20)),
        nesterov_(this->template GetSingleArgument<int>("nesterov", 0) != 0),
        debias_(this->template GetSingleArgument<bool>("zero_debias", true)),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-6f)),
        beta_(this->template GetSingleArgument<float>("beta", 0.999f)) {
    CAFFE_ENFORCE(window_ > 0, "argument curv_win_width must be positive, found ", window_);
    CAFFE_ENFORCE(beta_ >= 0 && beta_ < 1,
                  "argument beta must be at least 0 and less than 1, found ", beta_);
    CAFFE_ENFORCE(epsilon_ > 0, "argument epsilon must be positive, found ", epsilon_);
  }

  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    CheckInputs(param, grad);
    const int64_t iter = ReadInteger(this->template Input<Tensor>(ITER), "the iteration counter"),
                  n = param.numel();
    CAFFE_ENFORCE(iter > 0, "the iteration must be at least 1, found ", iter);
    for (int i = 0; i < NUM_OUT; ++i) {  // copies if an output is not the blob of the input
      if (!this->IsInputOutputAlias(i, i)) CopyTensor(Input(i), Output(i), &context_);
    }
    const float* g = grad.data<float>();
    const MovingAverage averages{beta_};
    ForEach(n,
            YellowFinElements{averages, nesterov_, Data(LR_AVG), Data(MU_AVG), g, Data(PARAM),
                              Data(MOMENT), Data(G_AVG), Data(G2_AVG)},
            &context_);
    Tensor sums(context_.device());
    sums.Resize(2);
    float* squares = sums.mutable_data<float>();
    SumOfSquares(n, g, squares, &context_);
    SumOfSquares(n, static_cast<const float*>(Data(G_AVG)), squares + 1, &context_);
    const double unbias =
        debias_ ? 1 / (1 - std::pow(double{beta_}, static_cast<double>(iter))) : 1;
    ForEach(1,
            YellowFinTune{averages, epsilon_, unbias, iter, window_, squares, squares + 1,
                          Data(LR_AVG), Data(MU_AVG), Data(CURV_WIN), Data(SCALARS_MEMORY)},
            &context_);
    return true;
  }

 private:
  enum { PARAM, MOMENT, LR_AVG, MU_AVG, CURV_WIN, G_AVG, G2_AVG, SCALARS_MEMORY, GRAD, ITER };
  static constexpr int NUM_OUT = SCALARS_MEMORY + 1;

  float* Data(int output) { return UpdatedData<float>(Output(output)); }

  void CheckInputs(const Tensor& param, const Tensor& grad) {
    CheckOptimizerState(param, grad, "gradient");
    CheckOptimizerState(param, Input(MOMENT), "moment");
    CheckOptimizerState(param, Input(G_AVG), "g_avg");
    CheckOptimizerState(param, Input(G2_AVG), "g2_avg");
    const auto check_size = [this](int i, int64_t size, const char* name) {
      CAFFE_ENFORCE(Input(i).numel() == size, name, " must have ", size, " elements, found ",
                    Input(i).numel());
    };
    check_size(LR_AVG, 1, "lr_avg");
    check_size(MU_AVG, 1, "mu_avg");
    check_size(CURV_WIN, window_, "curv_win");
    check_size(SCALARS_MEMORY, YellowFinTune::kNumScalars, "scalars_memory");
  }

  int window_;
  bool nesterov_, debias_;
  float epsilon_, beta_;
};

}  // namespace caffe2
