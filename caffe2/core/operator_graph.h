// Which operators of a net must wait for which.
#pragma once

#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Dependencies between the operators of a net, derived from blob names in definition order. An
// operator comes after the last writer of each blob that it reads or names as a control input. It
// also comes after the last writer and all later readers of each blob that it writes. Blobs of the
// nets that an operator runs count as its own (nested_net.h). So every order that respects the
// dependencies gives the same results as definition order. Indices are positions in the NetDef. The
// lists are sorted and have no duplicates.
struct OperatorGraph {
  std::vector<std::vector<int>> parents;
  std::vector<std::vector<int>> children;
};

OperatorGraph BuildOperatorGraph(const NetDef& net);

// Groups operators into chains. In a chain, each operator is the only child of the one before it,
// which is its only parent. Every operator is in exactly one chain. Chains are in order of their
// first operator. Operators with different `lane` entries are in different chains.
std::vector<std::vector<int>> BuildChains(const OperatorGraph& graph, const std::vector<int>& lane);

}  // namespace caffe2
