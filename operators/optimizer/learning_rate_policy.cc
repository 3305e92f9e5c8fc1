#include "operators/optimizer/learning_rate_policy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

// The arguments of one policy, by their names without the prefix.
class Arguments {
 public:
  Arguments(const std::string& policy, const std::string& prefix, const ArgumentHelper& arguments)
      : policy_(policy), prefix_(prefix), arguments_(arguments) {}

  double Float(const std::string& name, double default_value) const {
    return arguments_.GetSingleArgument<float>(prefix_ + name, static_cast<float>(default_value));
  }
  bool Bool(const std::string& name) const {
    return arguments_.GetSingleArgument<bool>(prefix_ + name, false);
  }
  double RequiredFloat(const std::string& name) const {
    Require(name);
    return Float(name, 0);
  }
  int64_t RequiredPositive(const std::string& name) const {
    Require(name);
    const int64_t value = arguments_.GetSingleArgument<int64_t>(prefix_ + name, 0);
    CAFFE_ENFORCE(value > 0, "argument ", prefix_, name, " of learning rate policy ", policy_,
                  " must be positive, found ", value);
    return value;
  }
  int64_t NotNegative(const std::string& name) const {
    const int64_t value = arguments_.GetSingleArgument<int64_t>(prefix_ + name, 0);
    CAFFE_ENFORCE(value >= 0, "argument ", prefix_, name, " of learning rate policy ", policy_,
                  " must not be negative, found ", value);
    return value;
  }
  const std::string& prefix() const { return prefix_; }
  const ArgumentHelper& all() const { return arguments_; }

 private:
  void Require(const std::string& name) const {
    CAFFE_ENFORCE(arguments_.HasArgument(prefix_ + name), "learning rate policy ", policy_,
                  " needs the argument ", prefix_, name);
  }
  const std::string &policy_, &prefix_;
  const ArgumentHelper& arguments_;
};

double Ramp(double from, int64_t iteration, int64_t num_iter) {
  return from + (1 - from) * static_cast<double>(iteration) / static_cast<double>(num_iter);
}

LearningRatePolicy Fixed(const Arguments&) {
  return [](int64_t) { return 1.0; };
}

// Alternates between 1 and 0.
LearningRatePolicy Alter(const Arguments& a) {
  const int64_t active = a.RequiredPositive("active_period");
  const int64_t inactive = a.RequiredPositive("inactive_period");
  const bool active_first = a.Bool("active_first");
  return [=](int64_t i) {
    const bool in_first = i % (active + inactive) < (active_first ? active : inactive);
    return in_first == active_first ? 1.0 : 0.0;
  };
}

LearningRatePolicy Step(const Arguments& a) {
  const int64_t step = a.RequiredPositive("stepsize");
  const double gamma = a.RequiredFloat("gamma");
  return [=](int64_t i) {
    const int64_t steps = i / step;
    return std::pow(gamma, static_cast<double>(steps));
  };
}

LearningRatePolicy Exp(const Arguments& a) {
  const double gamma = a.RequiredFloat("gamma");
  return [=](int64_t i) { return std::pow(gamma, static_cast<double>(i)); };
}

LearningRatePolicy Inv(const Arguments& a) {
  const double gamma = a.RequiredFloat("gamma"), power = a.RequiredFloat("power");
  return [=](int64_t i) { return std::pow(1 + gamma * static_cast<double>(i), -power); };
}

// Ends at 0 and stays there.
LearningRatePolicy Poly(const Arguments& a) {
  const double power = a.RequiredFloat("power");
  const auto max_iter = static_cast<double>(a.RequiredPositive("max_iter"));
  return [=](int64_t i) {
    return std::pow(std::max(0.0, 1 - static_cast<double>(i) / max_iter), power);
  };
}

// From max_lr down to min_lr along half a cosine, again and again: the k-th time within
// period * t_mult^k iterations, at rates lr_shrink^k as high.
LearningRatePolicy Cosine(const Arguments& a) {
  const double max_rate = a.RequiredFloat("max_lr"), min_rate = a.Float("min_lr", 0);
  const auto period = static_cast<double>(a.RequiredPositive("period"));
  const double growth = a.Float("t_mult", 1), shrink = a.Float("lr_shrink", 0.99);
  CAFFE_ENFORCE(growth >= 1,
                "argument t_mult of learning rate policy cosine must be at least 1, found ",
                growth);
  return [=](int64_t i) {
    auto at = static_cast<double>(i);
    double length = period, scale = 1;
    if (growth == 1) {
      scale = std::pow(shrink, std::floor(at / period));
      at = std::fmod(at, period);
    }
    for (; at >= length; length *= growth, scale *= shrink) at -= length;
    return scale * (min_rate + (max_rate - min_rate) * (1 + std::cos(M_PI * at / length)) / 2);
  };
}

LearningRatePolicy LinearWarmup(const Arguments& a) {
  const double start = a.Float("start_multiplier", 0);
  const int64_t num_iter = a.NotNegative("num_iter");
  return [=](int64_t i) { return i >= num_iter ? 1.0 : Ramp(start, i, num_iter); };
}

LearningRatePolicy ConstantWarmup(const Arguments& a) {
  const double multiplier = a.Float("multiplier", 0.5);
  const int64_t num_iter = a.NotNegative("num_iter");
  return [=](int64_t i) { return i >= num_iter ? 1.0 : multiplier; };
}

// multiplier_1, then multiplier_2.
LearningRatePolicy Gate(const Arguments& a) {
  const double first = a.Float("multiplier_1", 1), second = a.Float("multiplier_2", 1);
  const int64_t num_iter = a.NotNegative("num_iter");
  return [=](int64_t i) { return i >= num_iter ? second : first; };
}

// multiplier_1 until num_iter_1, then in a straight line to multiplier_2, which is a lower bound.
LearningRatePolicy Slope(const Arguments& a) {
  const int64_t start = a.NotNegative("num_iter_1"), end = a.NotNegative("num_iter_2");
  const double first = a.Float("multiplier_1", 1), second = a.Float("multiplier_2", 1);
  CAFFE_ENFORCE(start < end, "learning rate policy slope needs num_iter_1 (", start,
                ") less than num_iter_2 (", end, ")");
  return [=](int64_t i) {
    if (i < start) return first;
    const double part = static_cast<double>(i - start) / static_cast<double>(end - start);
    return std::max(first + part * (second - first), second);
  };
}

// A linear rise, then the fall of inv, down to end_multiplier.
LearningRatePolicy Hill(const Arguments& a) {
  const int64_t num_iter = a.NotNegative("num_iter");
  const double start = a.Float("start_multiplier", 0), gamma = a.RequiredFloat("gamma");
  const double power = a.RequiredFloat("power"), end = a.Float("end_multiplier", 0);
  return [=](int64_t i) {
    if (i < num_iter) return Ramp(start, i, num_iter);
    return std::max(end, std::pow(1 + gamma * static_cast<double>(i - num_iter), -power));
  };
}

// One policy after another, the i-th for sub_policy_num_iters[i] iterations counted from 1 (the
// first one also in iteration 0); the last one stays.
LearningRatePolicy Composite(const Arguments& a) {
  const auto lengths = a.all().GetRepeatedArgument<int64_t>(a.prefix() + "sub_policy_num_iters");
  CAFFE_ENFORCE(!lengths.empty(),
                "learning rate policy composite needs the argument sub_policy_num_iters");
  std::vector<std::pair<int64_t, LearningRatePolicy>> parts;  // with their last iteration
  int64_t end = 0;
  for (size_t k = 0; k < lengths.size(); ++k) {
    CAFFE_ENFORCE(lengths[k] > 0, "argument sub_policy_num_iters must be positive, found ",
                  lengths[k]);
    end += lengths[k];
    const std::string prefix = MakeString(a.prefix(), "sub_policy_", k, "_");
    const auto name = a.all().GetSingleArgument<std::string>(prefix + "policy", "");
    const double scale = a.all().GetSingleArgument<float>(prefix + "lr_scale", 1.f);
    const LearningRatePolicy policy = MakeLearningRatePolicy(name, prefix, a.all());
    parts.emplace_back(end, [=](int64_t i) { return scale * policy(i); });
  }
  return [parts = std::move(parts)](int64_t i) {
    for (const auto& [part_end, policy] : parts) {
      if (i <= part_end) return policy(i);
    }
    return parts.back().second(i);
  };
}

using PolicyMaker = LearningRatePolicy (*)(const Arguments&);

const std::map<std::string, PolicyMaker>& PolicyMakers() {
  static const std::map<std::string, PolicyMaker> makers = {
      {"fixed", Fixed},
      {"alter", Alter},
      {"step", Step},
      {"exp", Exp},
      {"inv", Inv},
      {"poly", Poly},
      {"cosine", Cosine},
      {"linearWarmup", LinearWarmup},
      {"constantWarmup", ConstantWarmup},
      {"hill", Hill},
      {"composite", Composite},
      {"gate", Gate},
      {"slope", Slope},
  };
  return makers;
}

}  // namespace

std::vector<std::string> LearningRatePolicyNames() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : PolicyMakers()) names.push_back(name);
  return names;
}

LearningRatePolicy MakeLearningRatePolicy(const std::string& name, const std::string& prefix,
                                          const ArgumentHelper& arguments) {
  const auto it = PolicyMakers().find(name);
  if (it == PolicyMakers().end()) {
    std::string known;
    for (const std::string& known_name : LearningRatePolicyNames()) known += " " + known_name;
    CAFFE_THROW("unknown learning rate policy \"", name, "\"; known:", known);
  }
  return it->second(Arguments(name, prefix, arguments));
}

}  // namespace caffe2
