// Moves the convolutions of a net from NCHW to NHWC, the order in which the kernels of the CPU are
// fastest.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

class Workspace;

// Rewrites `net`, a net for inference whose parameters are in `ws`, so that its images lie in NHWC
// between convolutions:
//
// - Conv (also with Sum and Relu) and ConvTranspose run in NHWC if their filter has four axes, is
//   in `ws` and is not written by the net.
// - Pools, normalizations (but LRN, which is slower in NHWC), elementwise operators, Concat, Split
//   and the like run in NHWC if all their images are in NHWC already.
// - All others run in NCHW. NCHW2NHWC and NHWC2NCHW are put between.
//
// External outputs and the blobs in `keep` hold what they held before, but for rounding. Other
// results may be in blobs "<name>_nhwc" only. Filters in the new order are added to the workspace
// under such names, too: they are copies, so create the net again after you change a filter, or the
// rank of a parameter that is added to channels or multiplies them. Blobs of these names in `ws`,
// for instance of an earlier call, are overwritten.
//
// Does nothing to a net that runs other nets, or has operators on devices other than the CPU.
// Returns the number of operators that run in NHWC and ran in NCHW before.
int MoveToChannelsLast(NetDef* net, Workspace* ws, const std::set<std::string>& keep = {});

// True for an Add, Sub, Mul or Div whose second input, broadcast, begins at axis 1 of the first
// one.
bool AddsToChannels(const OperatorDef& op);

}  // namespace caffe2
