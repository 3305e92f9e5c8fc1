// Waiting for devices. Only a wait reports an error on a device; the functions here tell which net
// and operator the error belongs to.
#pragma once

#include <set>
#include <utility>

#include "caffe2/core/net.h"

namespace caffe2 {

// Registers the function that waits for one device of the type and throws if its work failed.
// Called during static initialisation of the type's library.
void RegisterFinishDevice(DeviceType type, void (*finish)(int device));

// The operator that StartOperator is running on the calling thread; null if there is none.
const OperatorBase* StartedOperator();

// Calls FinishOperators for a net that has run; errors name the net. Does not wait while the
// calling thread defers its waits (DeferredWaits).
void FinishNet(const NetBase& net);

// While it lives, nets that the calling thread runs do not wait for devices. RecurrentNetwork uses
// it: it runs nets many times, and the net that contains it waits for its device. CPU operators
// still read finished data, because every operator that copies to host memory waits for its copy.
class DeferredWaits {
 public:
  DeferredWaits();
  ~DeferredWaits();
  DeferredWaits(const DeferredWaits&) = delete;
  DeferredWaits& operator=(const DeferredWaits&) = delete;

  // Waits for the devices of these nets, except for `own`, the caller's device: the caller's net
  // waits for that one. Throws if their work failed.
  void FinishOthers(const Device& own);

 private:
  friend void FinishNet(const NetBase& net);

  DeferredWaits* const around_;  // the enclosing one, or null
  std::set<std::pair<DeviceType, int>> devices_;
};

}  // namespace caffe2
