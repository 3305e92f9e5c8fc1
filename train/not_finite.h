// Finds NaN and infinities in tensors and in the blobs that a net has written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The first element of a tensor that is not finite.
struct NotFinite {
  int64_t index = -1;  // -1: there is none
  double value = 0;
};

// Looks at tensors of float, double, float16 and bfloat16, on any device; finds nothing in others.
NotFinite FindNotFinite(const Tensor& tensor);

// Says where the values of a net stopped being finite: "the first output that is not finite, of
// those still in memory, is cpu_0/fc2 of operator 7, FC; the last finite one before it is cpu_0/fc1
// of operator 6, Relu". Call it after the net has run and before it runs again.
//
// Looks at the outputs in the order of the operators. Skips outputs whose memory a later operator
// has overwritten, in place or because the memory plan reuses it: their values are lost. So the
// first bad value may come from an operator between the two that the text names. For a blob that
// was changed in place, names the operator that made it and the last one that changed it. If one of
// `params` (full names) is not finite now, adds the name of the first. Parameters that the net has
// updated may have been finite when its operators read them. Copies blobs to the host one by one,
// until it finds a bad one.
std::string DescribeNotFinite(const NetDef& net, const std::vector<std::string>& params,
                              const Workspace& ws);

}  // namespace caffe2
