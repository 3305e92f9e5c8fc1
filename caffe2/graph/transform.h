// Runs passes by name, to try them out: workspace.ApplyTransform in Python.
#pragma once

#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Returns the net after the transform of this name. External outputs keep their names and values:
//   CommonSubexpressionElimination   EliminateCommonSubexpressions
//   FuseOperators                    FuseOperators, all fusions
//   RemoveIdentities                 RemoveIdentities
// Throws EnforceNotMet for an unknown name and lists the known ones.
NetDef ApplyTransform(const std::string& name, const NetDef& net);
std::vector<std::string> TransformNames();

// Removes each operator that repeats an earlier one (same type, arguments, device and input values)
// and lets the readers of its outputs read the earlier outputs. Considers only some types, which
// have neither state nor randomness. An operator stays if one of its outputs is an external output
// or is written twice. A net with operators that run nets stays unchanged. Returns the number of
// operators removed.
int EliminateCommonSubexpressions(NetDef* net);

}  // namespace caffe2
