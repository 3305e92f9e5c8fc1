// Makes a trained net fast for inference: layers that only scale are folded into weights, and
// neighbouring operators are fused.
#pragma once

#include <set>
#include <string>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

struct InferenceOptions {
  // Blobs besides the external outputs that are read from outside.
  std::set<std::string> keep;
  bool fold_batch_norm = true;
  bool fuse = true;
  // The filters do not change while the net is in use: the layout that the kernels want is made
  // once. The net must be made anew after filters were written in place.
  bool constant_filters = true;
};

// Rewrites `net`, a net in test mode whose parameters are in `ws`, with the passes below that the
// options ask for, then fuses (FuseOperators), and sets constant_filter. Parameters are only added
// to the workspace, never changed: training may go on with the old ones.
void OptimizeForInference(NetDef* net, Workspace* ws, const InferenceOptions& options = {});

// Removes Dropout with is_test and StopGradient where their readers can read their input instead.
// Returns how many were removed.
int RemoveIdentities(NetDef* net, const std::set<std::string>& keep = {});

// Folds SpatialBN with is_test into the Conv before it, where no other operator reads the blob
// between them and the net writes none of the parameters. With s = scale / sqrt(var + epsilon):
//   filter' = s * filter,  bias' = s * (bias - mean) + bias of SpatialBN.
// The new parameters are blobs "<output of Conv>_folded_w" and "..._folded_b". Parameters of other
// types than float, or absent, forbid the fold. Returns how many were folded; refusals are logged
// with their reason at VLOG(1).
int FoldBatchNorm(NetDef* net, Workspace* ws, const std::set<std::string>& keep = {});

}  // namespace caffe2
