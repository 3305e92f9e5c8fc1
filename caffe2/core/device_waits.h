// Where the host waits for devices: at the end of nets, and what an error found there belongs to.
#pragma once

#include <set>
#include <utility>

#include "caffe2/core/net.h"

namespace caffe2 {

// How to wait for one device of a type; throws what went wrong there. Called during static
// initialisation of the type's library.
void RegisterFinishDevice(DeviceType type, void (*finish)(int device));

// The operator that the calling thread is in, started by StartOperator; null outside of all.
const OperatorBase* StartedOperator();

// FinishOperators of a net that has run: errors name the net. Where waits are deferred it does not
// wait.
void FinishNet(const NetBase& net);

// While one lives, nets that the calling thread runs do not wait for devices: for an operator that
// runs nets many times and is itself waited for. Operators of the host find finished data all the
// same, as those that copy to host memory wait for their copies.
class DeferredWaits {
 public:
  DeferredWaits();
  ~DeferredWaits();
  DeferredWaits(const DeferredWaits&) = delete;
  DeferredWaits& operator=(const DeferredWaits&) = delete;

  // Waits for the devices of those nets but `own`, that of the caller, which others wait for;
  // throws what went wrong there.
  void FinishOthers(const Device& own);

 private:
  friend void FinishNet(const NetBase& net);

  DeferredWaits* const around_;  // of the net that the caller is in
  std::set<std::pair<DeviceType, int>> devices_;
};

}  // namespace caffe2
