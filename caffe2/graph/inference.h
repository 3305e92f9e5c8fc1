// Makes a trained net fast for inference: folds layers that only scale into weights and fuses
// neighbouring operators.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

class Workspace;

struct InferenceOptions {
  // Blobs besides the external outputs that are read from outside.
  std::set<std::string> keep = {};
  bool fold_batch_norm = true;
  bool fuse = true;
  // The filters, and the weights of FC, do not change while the net is in use, so that kernels
  // convert them to their layout only once. Create the net again after you write filters in place.
  bool constant_filters = true;
};

// Rewrites `net`, a net in test mode whose parameters are in `ws`: runs the passes below and
// FuseOperators and sets constant_filter, as the options ask. Adds parameters to the workspace and
// changes none, so that training can go on with the old ones.
//
// Returns the parameters of convolutions, FC and SpatialBN, which the result may hold in another
// form. If one of them changes, optimize the original net again and create the optimized net anew.
std::set<std::string> OptimizeForInference(NetDef* net, Workspace* ws,
                                           const InferenceOptions& options = {});

// Removes Dropout with is_test and StopGradient if their readers can read their input instead.
// Returns the number of operators removed.
int RemoveIdentities(NetDef* net, const std::set<std::string>& keep = {});

// Lets each ConvSum, ConvSumRelu, Int8ConvSum and Int8ConvSumRelu of a CPU write its output over
// its last input, the accumulator, which saves a copy: the output gets the accumulator's name. It
// does so only if an operator of the net writes the accumulator, no other operator reads it later,
// no other operator writes the output, and both are read inside the net only. Returns the number of
// operators changed.
int WriteSumsInPlace(NetDef* net, const std::set<std::string>& keep = {});

// Folds SpatialBN with is_test into the Conv before it, if no other operator reads the blob between
// them and the net writes none of the parameters. With s = scale / sqrt(var + epsilon):
//   filter' = s * filter,  bias' = s * (bias - mean) + bias of SpatialBN.
// The new parameters are blobs "<output of Conv>_folded_w" and "<output of Conv>_folded_b" on the
// device of the filter; a blob of such a name in `ws` is overwritten, as by an earlier call, and
// one that the net writes throws EnforceNotMet. All parameters must be float tensors in `ws`. Logs
// each refusal with its reason at VLOG(1). Returns the number of folds.
int FoldBatchNorm(NetDef* net, Workspace* ws, const std::set<std::string>& keep = {});

}  // namespace caffe2
