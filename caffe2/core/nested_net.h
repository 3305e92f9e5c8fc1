// Operators that run nets over the blobs of their own workspace: what they touch without listing
// it.
#pragma once

#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Blobs of one workspace by name, each list in the order of first access and free of duplicates.
struct Operands {
  std::vector<std::string> reads;     // whose value from before is read
  std::vector<std::string> writes;    // may be written
  std::vector<std::string> may_keep;  // of the writes, those that a run need not reach
};

// The operators of the net, with those of the nets that its If, While, Do and ONNXWhile run.
size_t CountOperators(const NetDef& net);

// True for If and While: the nets in their arguments see all blobs around them. (Do has nets too,
// but these see only what its inputs and outputs bind; the net of ONNXWhile has its own blobs
// besides.)
bool RunsNestedNets(const OperatorDef& op);

// Inputs, outputs, and the blobs of the nets that the operator runs in its workspace. Control
// inputs are left out.
Operands OperandsOf(const OperatorDef& op);

// The same of all operators of a net in definition order: `reads` are read before the net writes
// them.
Operands OperandsOf(const NetDef& net);

}  // namespace caffe2
