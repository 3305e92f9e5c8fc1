// The backward pass: from a net to the operators that compute gradients of its losses.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/operator_gradient.h"

namespace caffe2 {

// The operators to append to a net, and the gradient of every blob that has one.
struct BackwardPass {
  std::vector<OperatorDef> ops;
  std::map<std::string, GradientWrapper> gradients;
  // Those of the values that blobs have before the net runs.
  std::map<std::string, GradientWrapper> input_gradients;
};

// Each loss blob, once, with the blob that holds its gradient, or with "" to start from ones: an
// operator that makes "<loss>_autogen_grad" is then part of the pass.
using LossGradients = std::vector<std::pair<std::string, std::string>>;

// Differentiates the sum of the losses through `net`.
//
// Follows Caffe2: the gradient of blob x is x_grad. Where several operators read x, the first
// contribution that is written keeps its name, the others are _x_grad_autosplit_<k>, and Sum adds
// all in its place (sparse ones are concatenated); the sum is placed like the first, and
// "is_auto_gen_sum_ops:1" in the extra_info of its device marks it. is_gradient_op marks what
// gradient makers in C++ return. A blob that is read nowhere on the way to a loss, or only through
// operators that stop gradients, has no gradient. Values of one name are told apart by version:
// how often the name was written. The map holds the gradient of the earliest version that has one,
// unless that was overwritten in place on the way here. For If, While and Do see
// control_gradient.h.
//
// Throws EnforceNotMet, naming operator and blob: no operator computes a loss; an operator on the
// way has no gradient; a gradient needs a version that a later operator has overwritten; a version
// is overwritten before anything reads it; dense and sparse gradients of one blob meet.
BackwardPass GetBackwardPass(const NetDef& net, const LossGradients& losses);

// GetBackwardPass, appended to the net. Returns the gradients.
std::map<std::string, GradientWrapper> AddGradientOperators(NetDef* net,
                                                            const LossGradients& losses);

}  // namespace caffe2
