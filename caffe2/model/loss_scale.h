// Loss scaling. Without it small gradients of float16 activations become zero (Micikevicius et al.,
// "Mixed precision training", ICLR 2018). For each replica of a model:
//
//   AddGradientOperators starts from loss_scale: gradients are multiplied by it
//   (reduction over replicas and shards)
//   CheckFiniteAndUnscale divides the gradients by it and writes found_inf
//   weight decay and update, which is skipped if found_inf
//   UpdateLossScale (dynamic only) makes loss_scale smaller after found_inf, larger after many
//     finite steps
#pragma once

#include <string>

#include "caffe2/model/model_helper.h"

namespace caffe2 {

struct LossScaleOptions {
  float scale = 65536.f;       // at the start; a power of two causes no rounding
  bool dynamic = true;         // false: the scale never changes
  int growth_interval = 2000;  // steps with finite gradients until the scale doubles
};

// Adds the blob "loss_scale" of the replica whose name scope and device are current, and returns
// its name. With AddGradientOperators({{loss, AddLossScale(...)}}) the gradients start from its
// value. Throws EnforceNotMet unless the scale is positive.
std::string AddLossScale(ModelHelper* model, const LossScaleOptions& options);

// Divides the gradients of all replicas that have a scale by it, and adapts dynamic scales. Call it
// after the gradients are reduced and before weight decay and the optimizer. The updates that
// optimizer.h adds afterwards are skipped if a gradient is not finite. Dynamic scales are optimizer
// state. Throws EnforceNotMet if a replica has no gradients.
void AddGradientUnscaling(ModelHelper* model, const LossScaleOptions& options);

// The blob that says whether to skip the update of the parameter ("gpu_0/found_inf"); "" if its
// gradient is not scaled.
std::string FoundInfOf(const ModelHelper& model, const std::string& param);

}  // namespace caffe2
