// Removes gradients that no operator of a training net reads, usually the gradient of its data.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Caffe2's gradient makers write the gradient of every input. So the first layer of a net computes
// the gradient of the data, which no operator reads. In a fully connected layer this is a third of
// the work.
//
// The pass removes operators of the backward pass (is_gradient_op) whose only output is not read,
// such as the gradient of a Cast. PythonGradient stays, because it may have other effects. From the
// gradient operators of convolutions and fully connected layers it removes the gradient of the
// input if that is not read. External outputs and blobs in `keep` stay. No other value changes.
// Call it after the updates are added, because they read the gradients of the parameters. Returns
// the number of gradients removed.
int RemoveUnusedGradients(NetDef* net, const std::set<std::string>& keep = {});

}  // namespace caffe2
