// Optimizers: functions that append the update of all parameters to a model that already has its
// gradient operators. Blob names are the same as in Caffe2's optimizer.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/model/model_helper.h"

namespace caffe2 {

// The policy and arguments of the LearningRate operator; its schema documents them. Each policy
// uses only its own arguments.
struct LearningRateOptions {
  float base = 0.1f;             // positive
  std::string policy = "fixed";  // fixed, step, exp, inv, poly, cosine
  int64_t stepsize = 1;          // step: iterations between changes
  // step: the iterations after which the rate changes, instead of `stepsize`; ascending.
  std::vector<int64_t> steps = {};
  float gamma = 0.1f;    // step, exp, inv: factor
  float power = 1.f;     // inv, poly
  int64_t max_iter = 1;  // poly, cosine: iterations until zero
  // During the warm-up, which must be shorter than steps[0], the rate rises linearly from
  // warmup_start x base to base. Then the policy sets it, with iterations counted from the start of
  // training.
  int64_t warmup_iterations = 0;
  float warmup_start = 0.1f;
};

// For each name scope ("gpu_0/"; "" for all names): scales the gradients of the parameters in the
// scope by min(1, max_norm / norm), where norm is the L2 norm of all these gradients together. Call
// it after the gradients are reduced over shards and unscaled (loss_scale.h), and before weight
// decay. Throws EnforceNotMet if a scope has no gradients.
void AddGradientClipping(ModelHelper* model, float max_norm,
                         const std::vector<std::string>& scopes = {""});

// Adds grad += weight_decay * weight for all weights (not biases). Call it after the gradients are
// reduced over shards and before the optimizer.
void AddWeightDecay(ModelHelper* model, float weight_decay);

// Plain or momentum SGD. State: "<param>_momentum", but none for plain SGD without loss scaling.
// Caffe2: build_sgd.
struct SgdOptions {
  LearningRateOptions learning_rate;
  float momentum = 0.9f;  // 0: plain
  bool nesterov = true;
  // LARS (You et al., "Large batch training of convolutional networks", 2017), if lars_trust is
  // positive: the rate of each weight w with more than one axis and gradient g is multiplied by
  // lars_trust |w| / (|g| + lars_decay |w|), or by 1 if w = 0. Biases and normalizations keep the
  // rate. BuildSgd then adds weight decay by lars_decay; do not call AddWeightDecay as well.
  float lars_trust = 0.f;
  float lars_decay = 0.f;
};
// Each Build function returns the blob of the learning rate, for instance "SgdOptimizer_0_lr_cpu".
// It throws EnforceNotMet if a gradient is not dense.
std::string BuildSgd(ModelHelper* model, const SgdOptions& options);

// Kingma and Ba, "Adam", 2014. State: "<param>_first_moment", "<param>_second_moment".
struct AdamOptions {
  LearningRateOptions learning_rate = {.base = 1e-3f};
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  // Decoupled weight decay of the weights (Loshchilov and Hutter, "Decoupled weight decay
  // regularization", 2019): besides its step, each weight w changes by -rate x weight_decay x w.
  float weight_decay = 0.f;
};
std::string BuildAdam(ModelHelper* model, const AdamOptions& options);

// Duchi et al., "Adaptive subgradient methods", 2011. State: "<param>_squared_sum".
struct AdagradOptions {
  LearningRateOptions learning_rate = {.base = 1e-2f};
  float epsilon = 1e-4f;
};
std::string BuildAdagrad(ModelHelper* model, const AdagradOptions& options);

// Tieleman and Hinton, 2012. State: "<param>_mean_squares", "<param>_momentum".
struct RmsPropOptions {
  LearningRateOptions learning_rate = {.base = 1e-3f};
  float decay = 0.9f;
  float momentum = 0.f;
  float epsilon = 1e-5f;
};
std::string BuildRmsProp(ModelHelper* model, const RmsPropOptions& options);

// The int64 blob on the CPU that counts the updates.
inline constexpr char kOptimizerIteration[] = "optimizer_iteration";

// Adds the int64 counter "optimizer_iteration" and its "iteration_mutex", on the CPU. Each run of
// the net adds one. Returns the counter's name; does nothing if the model already has it. The Build
// functions call it.
std::string AddIteration(ModelHelper* model);

}  // namespace caffe2
