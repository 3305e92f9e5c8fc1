// Policies: how a learning rate changes with the iteration.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "caffe2/core/argument.h"

namespace caffe2 {

// The factor of the base learning rate at an iteration (counted from 0).
using LearningRatePolicy = std::function<double(int64_t iteration)>;

// The names of all policies, sorted.
std::vector<std::string> LearningRatePolicyNames();

// Makes the policy `name` from arguments whose names begin with `prefix`. Throws EnforceNotMet for
// an unknown name, with a list of the known names, and for missing or invalid arguments.
LearningRatePolicy MakeLearningRatePolicy(const std::string& name, const std::string& prefix,
                                          const ArgumentHelper& arguments);

}  // namespace caffe2
