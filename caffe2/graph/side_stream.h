// Computes filter gradients on a second stream, concurrently with the rest of the backward pass.
#pragma once

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The most filter gradients of a device that may run on the second stream at a time.
constexpr int kMaxSideWork = 1;

// Lets convolution gradients on CUDA devices compute the gradient of the filter on a second stream
// of the device (argument side_stream), while the first stream goes on. Inserts a JoinSideStream,
// which waits for that gradient, before the first operator that
//  - reads the filter's gradient,
//  - writes it or one of the blobs that it is computed from,
//  - runs nets, or
//  - would start another filter gradient while `max_open` are running;
// else at the end of the net. Blobs that share storage (Alias) count as one. An operator that
// computes only the filter's gradient and would be joined at once stays on the first stream. The
// results keep their bits.
//
// JoinSideStream lists the blobs that the second stream reads and writes. Every executor therefore
// keeps the order, and these blobs stay alive until the join: plan memory after this pass. Returns
// the number of operators that use the second stream. Throws EnforceNotMet if `max_open` is not
// positive.
int UseSideStreams(NetDef* net, int max_open = kMaxSideWork);

}  // namespace caffe2
