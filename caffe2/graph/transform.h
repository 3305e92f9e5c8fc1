// Rewritings of nets by name, for those who try them out: workspace.ApplyTransform in Python.
#pragma once

#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The net after the transform of this name. Its external outputs keep name and value:
//   CommonSubexpressionElimination   EliminateCommonSubexpressions
//   FuseOperators                    FuseOperators, all fusions
//   RemoveIdentities                 operators that only copy are left out
// Throws EnforceNotMet for an unknown name and lists the known ones.
NetDef ApplyTransform(const std::string& name, const NetDef& net);
std::vector<std::string> TransformNames();

// Removes operators that compute what an operator before them has computed (same type, arguments,
// device and input values; only types without state and randomness count), and lets the readers of
// their outputs read the earlier ones. Outputs that are external, or written twice, stay, and so
// does everything in a net with operators that run nets. Returns how many operators it removed.
int EliminateCommonSubexpressions(NetDef* net);

}  // namespace caffe2
