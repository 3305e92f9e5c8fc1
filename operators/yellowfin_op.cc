// YellowFin: momentum SGD that tunes its rate and momentum (Zhang & Mitliagkas, SysML 2019).
#include <algorithm>
#include <cmath>
#include <vector>

#include "operators/momentum_sgd_op.h"

namespace caffe2 {
namespace {

// Positions in scalars_memory: moving averages.
enum Scalar { kNorm, kNorm2, kLogMin, kLogMax, kDistance, kNumScalars };

// What one run works on, in place.
struct YellowFinState {
  float *lr, *mu;           // moving averages of rate and momentum
  float* curvature;         // a ring of log |g|^2
  float *g_mean, *g2_mean;  // moving averages of g and g^2, element by element
  float* scalars;
};

class YellowFinOp final : public Operator<CPUContext> {
 public:
  YellowFinOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        window_(GetSingleArgument<int>("curv_win_width", 20)),
        nesterov_(GetSingleArgument<int>("nesterov", 0) != 0),
        debias_(GetSingleArgument<bool>("zero_debias", true)),
        epsilon_(GetSingleArgument<float>("epsilon", 1e-6f)),
        beta_(GetSingleArgument<float>("beta", 0.999f)) {
    CAFFE_ENFORCE_GT(window_, 0, "the argument curv_win_width");
    CAFFE_ENFORCE(beta_ >= 0 && beta_ < 1, "the argument beta must lie in [0, 1), not be ", beta_);
    CAFFE_ENFORCE_GT(epsilon_, 0, "the argument epsilon");
  }

  bool RunOnDevice() override {
    const Tensor &param = Input(PARAM), &grad = Input(GRAD);
    CheckInputs(param, grad);
    const int64_t iter = *Input(ITER).data<int64_t>(), n = param.numel();
    CAFFE_ENFORCE_GT(iter, 0, "the iteration counts from 1");
    for (int i = 0; i < NUM_OUT; ++i) {  // copies where an output is not the input itself
      if (!IsInputOutputAlias(i, i)) Output(i)->CopyFrom(Input(i));
    }
    const YellowFinState state{Data(LR_AVG), Data(MU_AVG), Data(CURV_WIN),
                               Data(G_AVG),  Data(G2_AVG), Data(SCALARS_MEMORY)};
    const float* g = grad.data<float>();
    step_.resize(n);
    float *p = Data(PARAM), *m = Data(MOMENT);
    MomentumUpdate(n, g, m, p, *state.lr, {*state.mu, nesterov_}, step_.data(), m, p);
    Tune(n, g, iter, state);
    return true;
  }

 private:
  enum { PARAM, MOMENT, LR_AVG, MU_AVG, CURV_WIN, G_AVG, G2_AVG, SCALARS_MEMORY, GRAD, ITER };
  static constexpr int NUM_OUT = SCALARS_MEMORY + 1;

  float* Data(int output) { return Output(output)->mutable_data<float>(); }

  void CheckInputs(const Tensor& param, const Tensor& grad) {
    CheckOptimizerState(param, grad, "gradient");
    CheckOptimizerState(param, Input(MOMENT), "moment");
    CheckOptimizerState(param, Input(G_AVG), "g_avg");
    CheckOptimizerState(param, Input(G2_AVG), "g2_avg");
    const auto check_size = [this](int i, int64_t size, const char* name) {
      CAFFE_ENFORCE_EQ(Input(i).numel(), size, "elements of ", name);
    };
    check_size(LR_AVG, 1, "lr_avg");
    check_size(MU_AVG, 1, "mu_avg");
    check_size(CURV_WIN, window_, "curv_win");
    check_size(SCALARS_MEMORY, kNumScalars, "scalars_memory");
    check_size(ITER, 1, "iter");
  }

  // Moves the average to the value.
  float Average(double value, float* average) const {
    *average = static_cast<float>(beta_ * *average + (1 - beta_) * value);
    return *average;
  }

  void Tune(int64_t n, const float* g, int64_t iter, const YellowFinState& s) const {
    const double unbias =
        debias_ ? 1 / (1 - std::pow(double{beta_}, static_cast<double>(iter))) : 1;
    double squares = 0, mean_squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      squares += double{g[i]} * g[i];
      Average(double{g[i]} * g[i], s.g2_mean + i);
      const double mean = unbias * Average(g[i], s.g_mean + i);
      mean_squares += mean * mean;
    }
    squares = std::max<double>(squares, epsilon_);
    const double norm2 = Average(squares, s.scalars + kNorm2);
    const double norm = Average(std::sqrt(squares), s.scalars + kNorm);
    // The range of curvatures over the last iterations.
    s.curvature[(iter - 1) % window_] = static_cast<float>(std::log(squares));
    const auto [low, high] =
        std::minmax_element(s.curvature, s.curvature + std::min<int64_t>(window_, iter));
    const auto curvature = [&](float log_value, Scalar which) {
      return std::max<double>(std::exp(unbias * Average(log_value, s.scalars + which)), epsilon_);
    };
    const double least = curvature(*low, kLogMin), most = curvature(*high, kLogMax);
    const double variance = std::max<double>(unbias * norm2 - mean_squares, epsilon_);
    const double distance = unbias * Average(norm / norm2, s.scalars + kDistance);
    if (iter > 1) SetRates(least, most, variance, distance, s);
  }

  // The momentum that minimizes the expected squared distance to the optimum after one step: the
  // root of the cubic p x = (1 - x)^3, x = sqrt(mu), but not below what the range of curvatures
  // asks for.
  void SetRates(double least, double most, double variance, double distance,
                const YellowFinState& s) const {
    const double ratio = std::sqrt(most / least), bound = (ratio - 1) / (ratio + 1);
    const double pull = distance * least, p = pull * pull / (2 * variance);
    const double w = std::cbrt(-std::sqrt(p * p / 4 + p * p * p / 27) - p / 2);
    const double root = w == 0 ? 1 : 1 + w - p / (3 * w);
    const double mu = std::max(root * root, bound * bound);
    const double rate = 1 - std::sqrt(mu);
    Average(mu, s.mu);
    Average(rate * rate / least, s.lr);
  }

  int window_;
  bool nesterov_, debias_;
  float epsilon_, beta_;
  std::vector<float> step_;
};

}  // namespace

REGISTER_CPU_OPERATOR(YellowFin, YellowFinOp);
OPERATOR_SCHEMA(YellowFin)
    .NumInputs(10)
    .NumOutputs(8)
    .AllowInplace({{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}})
    .InputsCanCrossDevices()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>(in.begin(), in.begin() + 8);
    })
    .SetDoc(
        "Momentum SGD that tunes its learning rate and momentum by the range of curvatures, the "
        "variance of the gradient and the distance to the optimum, all estimated from the "
        "gradients (Zhang & Mitliagkas, \"YellowFin and the Art of Momentum Tuning\"). The "
        "step is taken with the rate and momentum of the iterations before.")
    .Arg("curv_win_width", "(int > 0, default 20) Iterations that the curvature range covers.")
    .Arg("epsilon", "(float > 0, default 1e-6) Estimates below count as this.")
    .Arg("nesterov", "(int, default 0) 1 for Nesterov's form.")
    .Arg("zero_debias", "(bool, default 1) Corrects averages for their start at 0.")
    .Arg("beta", "(float in [0, 1), default 0.999) The share of the averages that is kept.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "moment", "The momentum, shaped like it; zeros at the start.")
    .Input(2, "lr_avg", "The learning rate, one float.")
    .Input(3, "mu_avg", "The momentum factor, one float.")
    .Input(4, "curv_win", "curv_win_width floats: logarithms of squared gradient norms.")
    .Input(5, "g_avg", "Average gradient, shaped like the parameter.")
    .Input(6, "g2_avg", "Average squared gradient, shaped like the parameter.")
    .Input(7, "scalars_memory", "5 floats: other averages; zeros at the start.")
    .Input(8, "grad", "The gradient, shaped like the parameter.")
    .Input(9, "iter", "The iteration from 1, int64 of one element, on the host.")
    .Output(0, "output_param", "The new parameter; most often the same blob.")
    .Output(1, "output_moment", "The new momentum.")
    .Output(2, "output_lr_avg", "The new learning rate.")
    .Output(3, "output_mu_avg", "The new momentum factor.")
    .Output(4, "output_curv_win", "The curvatures with this iteration's.")
    .Output(5, "output_g_avg", "The new average gradient.")
    .Output(6, "output_g2_avg", "The new average squared gradient.")
    .Output(7, "output_scalars_memory", "The other new averages.");
SHOULD_NOT_DO_GRADIENT(YellowFin);

}  // namespace caffe2
