// The writer and the readers of every blob of a net, and small helpers for passes that rewrite
// nets.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The dataflow of a net whose operators run in definition order, or as if they did. A blob that is
// written several times has a version for each write. Operators are identified by their position.
// Keeps a pointer to the net, which must outlive it and not change.
class Dataflow {
 public:
  // Blobs in `keep` are read from outside the net, like its external outputs.
  explicit Dataflow(const NetDef& net, const std::set<std::string>& keep = {});

  // The operator that writes input `input` of `op`; -1 if no operator of the net does.
  int WriterOf(int op, int input) const { return writers_[op][input]; }
  // Operators that read output `output` of `op` before it is overwritten, in order; control
  // inputs count.
  const std::vector<int>& ReadersOf(int op, int output) const { return readers_[op][output]; }
  // True if output `output` of `op` may be read from outside the net: `op` is the last writer of an
  // external output or kept blob, or a subnet names the blob.
  bool Escapes(int op, int output) const;
  // Empty if only `reader` reads output `output` of `op`; otherwise names another reader.
  std::string WhyShared(int op, int output, int reader) const;
  // True if an operator in (first, last), both excluded, writes the blob.
  bool IsWrittenBetween(const std::string& blob, int first, int last) const;
  bool IsWritten(const std::string& blob) const { return writes_.count(blob) != 0; }
  // True if an operator in (first, last) reads or writes the blob.
  bool IsTouchedBetween(const std::string& blob, int first, int last) const;

 private:
  const NetDef* net_;
  std::vector<std::vector<int>> writers_;
  std::vector<std::vector<std::vector<int>>> readers_;
  std::map<std::string, std::vector<int>> writes_;  // positions, ascending
  std::map<std::string, std::vector<int>> reads_;
  std::set<std::string> outside_, nested_;
};

// The device of an operator of the net: its own if it has one, else the device of the net.
const DeviceOption& DeviceOptionOf(const OperatorDef& op, const NetDef& net);

bool IsConvGradient(const OperatorDef& op);

// The index of the output of a ConvGradient that is the gradient of the convolution's input. -1 if
// there is none, or if the operator adds it to another gradient (FuseGradientSums).
int ConvInputGradientOf(const OperatorDef& op);

// True if the arguments of a convolution or its gradient, as Caffe2's builders write them, say that
// it is 1x1 with stride 1, in one group.
bool IsPointwise(const OperatorDef& conv);

// The storage order of the operator's images: its argument `order`, or "NCHW".
std::string OrderOf(const OperatorDef& op);

// Removes the operators at the positions marked true.
void RemoveOperators(const std::vector<bool>& removed, NetDef* net);

// Removes unneeded operators from position `begin` on: those that write neither a blob in `wanted`
// nor a blob that a later operator, which itself stays, reads.
void RemoveUnneeded(int begin, std::set<std::string> wanted, NetDef* net);

}  // namespace caffe2
