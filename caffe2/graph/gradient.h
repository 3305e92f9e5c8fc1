// The backward pass: makes the operators that compute the gradients of a net's losses.
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
  // The gradients of the values that blobs have before the net runs.
  std::map<std::string, GradientWrapper> input_gradients;
};

// Each loss blob, once, with the blob that holds its gradient. With "" the pass begins with an
// operator that fills "<loss>_autogen_grad" with ones.
using LossGradients = std::vector<std::pair<std::string, std::string>>;

// Differentiates the sum of the losses through `net`.
//
// Names and marks are Caffe2's. The gradient of blob x is x_grad. If several operators read x, the
// contribution that is written first keeps this name, the others are _x_grad_autosplit_<k>, and a
// Sum adds all of them to the first one, in place (Concat joins sparse ones). The Sum runs on the
// device of the first contribution and has "is_auto_gen_sum_ops:1" in the extra_info of its device.
// Operators that gradient makers in C++ return have is_gradient_op. A blob has no gradient if no
// loss depends on it, or only through operators that stop gradients.
//
// Each write to a blob makes a new version of it, and versions have gradients of their own.
// `gradients` holds the gradient of the earliest version that has one, unless an operator overwrote
// that version in place. For If, While and Do see control_gradient.h.
//
// Throws EnforceNotMet, naming operator and blob, if
//  - no operator reads or writes a loss, or a loss is given twice;
//  - an operator between a loss and a blob has no gradient;
//  - a gradient needs a version of a blob that a later operator overwrites;
//  - a version of a blob is overwritten before any operator reads it, and the later version has the
//    gradient;
//  - a gradient is overwritten before its use;
//  - a blob gets both dense and sparse gradients.
BackwardPass GetBackwardPass(const NetDef& net, const LossGradients& losses);

// Appends the operators of GetBackwardPass to the net. Returns the gradients.
std::map<std::string, GradientWrapper> AddGradientOperators(NetDef* net,
                                                            const LossGradients& losses);

}  // namespace caffe2
