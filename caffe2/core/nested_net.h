// The blobs that operators read and write. Operators that run nets do not list the blobs of these
// nets.
#pragma once

#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Names of blobs of one workspace. Each list is in the order of first access and has no duplicates.
struct Operands {
  std::vector<std::string> reads;     // the old value is read
  std::vector<std::string> writes;    // may be written
  std::vector<std::string> may_keep;  // the writes that a run may skip
};

// The number of operators of the net, including the nets that its If, While, Do and ONNXWhile run.
size_t CountOperators(const NetDef& net);

// True if an argument of the operator is a net, which may read blobs that the operator does not
// list.
bool HasNetArgument(const OperatorDef& op);

// True for If and While: the nets in their arguments see all blobs of the workspace. (The net of a
// Do sees only the blobs that the Do binds. The net of an ONNXWhile also has blobs of its own.)
bool RunsNestedNets(const OperatorDef& op);

// The blobs that the operator reads and writes: its inputs, its outputs, and the blobs of the nets
// that it runs in its own workspace. Control inputs do not count.
Operands OperandsOf(const OperatorDef& op);

// The blobs that the operators of a net read and write, in definition order. `reads` are the blobs
// that are read before the net writes them.
Operands OperandsOf(const NetDef& net);

}  // namespace caffe2
