// Makes a trained net fast for inference: folds layers that only scale into weights and fuses
// neighbouring operators.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

class Workspace;

struct InferenceOptions {
  // Blobs that are read from outside the net, besides its external outputs.
  std::set<std::string> keep = {};
  bool fold_batch_norm = true;
  bool fuse = true;
  // The filters, and the weights of FC, do not change while the net is in use, so that kernels
  // convert them to their layout only once. Create the net again after you write filters in place.
  bool constant_filters = true;
  // Images lie in NHWC between convolutions, which is faster on the CPU (channels_last.h). Filters
  // are copied, so the last sentence above holds here too.
  bool channels_last = true;
};

// Rewrites `net`, a net in test mode whose parameters are in `ws`. Runs
// RemoveIdentities and WriteSumsInPlace and, as the options ask, FoldBatchNorm, FuseOperators and
// MoveToChannelsLast. With constant_filters it runs WriteJoinsInPlace and sets the argument
// constant_filter. Adds parameters to the workspace and changes none, so that training can go on
// with the old ones. External inputs that no operator reads any more are removed from the net.
//
// Returns the parameters of convolutions, FC and SpatialBN of the original net, and those that
// AddsToChannels (channels_last.h) reads: the result may hold their values in another form. If one
// of them changes, optimize the original net again and create the optimized net anew.
std::set<std::string> OptimizeForInference(NetDef* net, Workspace* ws,
                                           const InferenceOptions& options = {});

// Removes each StopGradient, and each Dropout with is_test, whose readers can read its input
// instead. Returns the number of operators removed.
int RemoveIdentities(NetDef* net, const std::set<std::string>& keep = {});

// Lets each ConvSum, ConvSumRelu, Int8ConvSum and Int8ConvSumRelu of a CPU write its output over
// its last input, the accumulator, which saves a copy: the output gets the accumulator's name. It
// does so only if an operator of the net writes the accumulator, no other operator reads it later,
// no other operator writes the output, and both are read inside the net only. Returns the number of
// operators changed.
int WriteSumsInPlace(NetDef* net, const std::set<std::string>& keep = {});

// Removes each Int8Concat along the channels whose inputs are all results of Int8Conv or
// Int8ConvRelu of one scale and zero point, with filters in `ws` that the net does not write: these
// write their channels of the joined images, the first by the argument Y_channels, the others as
// Int8ConvJoin or Int8ConvReluJoin, which Caffe2 does not have. It does so only if nothing else
// reads the inputs, and no other operator between them touches the result. Returns the number of
// operators removed.
int WriteJoinsInPlace(NetDef* net, const Workspace& ws, const std::set<std::string>& keep = {});

// Folds SpatialBN with is_test into the Conv before it, if no other operator reads the blob between
// them and the net writes none of the parameters. With s = scale / sqrt(var + epsilon):
//   filter' = s * filter,  bias' = s * (bias - mean) + bias of SpatialBN.
// The new parameters are blobs "<output of Conv>_folded_w" and "<output of Conv>_folded_b" on the
// device of the filter. Blobs of these names in `ws`, for instance of an earlier call, are
// overwritten. Throws EnforceNotMet if the net writes one of these names. All parameters must be
// float tensors in `ws`. Logs each refusal with its reason at VLOG(1). Returns the number of folds.
int FoldBatchNorm(NetDef* net, Workspace* ws, const std::set<std::string>& keep = {});

}  // namespace caffe2
