// The parameters that keep their values while others are trained (--freeze).
#pragma once

#include <functional>
#include <string>

#include "caffe2/model/model_helper.h"
#include "train/options.h"

namespace caffe2 {

// In options.model.freeze: all parameters except the last layer's.
inline constexpr char kAllButLast[] = "all_but_last";

// A function that tells whether the parameter with a (stripped) name is frozen; null if none is. A
// number at the end of a prefix matches only the whole number: "comp_1" does not match
// comp_10_conv_1_w.
std::function<bool(const std::string&)> FrozenParams(const TrainOptions& options);

// Throws UsageError, which names --freeze, if no weight or bias begins with one of the prefixes
// (the text lists some), or if no parameter is left to train. Logs how many are frozen. `scope` is
// the name scope of a replica of the model.
void CheckFrozenParams(const TrainOptions& options, const ModelHelper& model,
                       const std::string& scope);

}  // namespace caffe2
