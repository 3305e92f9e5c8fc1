// Loss scaling, without which small gradients of float16 activations become zero (Micikevicius et
// al., "Mixed precision training", ICLR 2018). For each replica of a model:
//
//   loss_scale --AddGradientOperators--> gradients, times loss_scale --(reduction)-->
//   CheckFiniteAndUnscale --> gradients, found_inf --> weight decay, update unless found_inf
//   UpdateLossScale: a step with an infinite gradient changes nothing but makes loss_scale smaller
#pragma once

#include <string>

#include "caffe2/model/model_helper.h"

namespace caffe2 {

struct LossScaleOptions {
  float scale = 65536.f;       // at the start; powers of two change no digits
  bool dynamic = true;         // false: it stays
  int growth_interval = 2000;  // steps without infinite gradient until the scale doubles
};

// Makes the blob "loss_scale" of the replica whose scope and device are current, for
// AddGradientOperators({{loss, AddLossScale(...)}}): its value is what the gradients start from.
std::string AddLossScale(ModelHelper* model, const LossScaleOptions& options);

// Divides the gradients of all replicas with a scale by it, behind their reduction and before
// anything that reads them (weight decay, update), and moves dynamic scales. The updates that
// optimizer.h adds afterwards are skipped where a gradient is not finite. The state of dynamic
// scales is optimizer state.
void AddGradientUnscaling(ModelHelper* model, const LossScaleOptions& options);

// The blob that says that the parameter must not be updated ("gpu_0/found_inf"); "" if its
// gradient is not scaled.
std::string FoundInfOf(const ModelHelper& model, const std::string& param);

}  // namespace caffe2
