// Which operators of a net must wait for which.
#pragma once

#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Dependencies between the operators of a net, derived from blob names in definition order: an
// operator comes after the last writer of each blob it reads or names as control input, and after
// all earlier readers and the last writer of each blob it writes. What nets inside of an operator
// touch counts. Hence any order that respects
// them gives the results of the definition order. Indices are positions in the NetDef; the lists
// are sorted and free of duplicates.
struct OperatorGraph {
  std::vector<std::vector<int>> parents;
  std::vector<std::vector<int>> children;
};

OperatorGraph BuildOperatorGraph(const NetDef& net);

// Groups operators into chains: runs of operators in which each has one child and the next one has
// one parent. Every operator is in exactly one chain; chains are in order of their first operator.
// Only operators with equal `lane` entries share a chain.
std::vector<std::vector<int>> BuildChains(const OperatorGraph& graph, const std::vector<int>& lane);

}  // namespace caffe2
