// Removes the gradients that a training net computes for nobody: usually the gradient of its data.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Caffe2's gradient makers write the gradient of every input. The first layer of a net so computes
// the gradient of the data, which no operator reads; for a fully connected layer this is a third of
// its work.
//
// The pass removes operators of the backward pass (is_gradient_op) with one output that is not
// read, such as the gradient of a Cast. PythonGradient stays, for it may change other things. From
// the gradients of convolutions and fully connected layers it removes the output that is the
// gradient of the input. External outputs and blobs in `keep` stay. No other value changes. Call it
// after the updates are added, for they read the gradients of the parameters. Returns the number of
// gradients removed.
int RemoveUnusedGradients(NetDef* net, const std::set<std::string>& keep = {});

}  // namespace caffe2
