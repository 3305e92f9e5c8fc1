// The backward pass: from a net to the operators that compute gradients of its losses.
#pragma once

#include <map>
#include <string>
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

// Differentiates the sum of the losses through `net`. `losses` maps each loss blob to the blob that
// holds its gradient, or to "" to start from ones (an operator that makes "<loss>_autogen_grad" is
// then part of the pass).
//
// Follows Caffe2: the gradient of blob x is x_grad; where several operators read x, their
// contributions are _x_grad_autosplit_<k>, added by Sum (sparse ones are concatenated). In-place
// operators are told apart by version. A blob that is read nowhere on the way to a loss, or only
// through operators that stop gradients, has none. If a blob name was written several times, the
// map holds the gradient of the earliest version. For If, While and Do see control_gradient.h.
//
// Throws EnforceNotMet, naming operator and blob: no operator computes a loss; an operator on the
// way has no gradient; a gradient needs a value that a later operator has overwritten; dense and
// sparse gradients of one blob meet.
BackwardPass GetBackwardPass(const NetDef& net, const std::map<std::string, std::string>& losses);

// GetBackwardPass, appended to the net. Returns the gradients.
std::map<std::string, GradientWrapper> AddGradientOperators(
    NetDef* net, const std::map<std::string, std::string>& losses);

}  // namespace caffe2
