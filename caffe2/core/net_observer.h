// Observers watch the runs of a net: times, counts, profiles.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "caffe2/core/registry.h"

namespace caffe2 {

class NetBase;

// Attached to one net (NetBase::AttachObserver), which it may outlive. Parallel executors call it
// from several threads at once.
class NetObserver {
 public:
  virtual ~NetObserver() = default;
  // False if it watches only whole runs. It then costs nothing for each operator, and asynchronous
  // work on a device stays asynchronous. Must be constant.
  virtual bool WatchesOperators() const { return true; }
  virtual void NetStarts() {}
  virtual void NetStops() {}  // after failures too
  // i is the operator's position in the net. OperatorStops is not called if the operator throws.
  virtual void OperatorStarts(size_t /*i*/) {}
  virtual void OperatorStops(size_t /*i*/) {}

  // Mean time of a run, in milliseconds; 0 before the first run and for observers that do not
  // measure time.
  virtual float AverageTime() const { return 0.f; }
  // Mean time of an operator's run, in milliseconds, over all operators and runs.
  virtual float AverageTimeChildren() const { return 0.f; }
  // A report for people.
  virtual std::string DebugInfo() const { return "Not implemented."; }
};

// Observers by Caffe2's names: TimeObserver (times of net and operators), ProfileObserver (also
// reports the time of each operator in DebugInfo), RunCountObserver (counts operator runs).
Registry<std::string, NetObserver, const NetBase*>& NetObserverRegistry();
// Throws EnforceNotMet for an unknown type and lists the known ones.
std::unique_ptr<NetObserver> CreateNetObserver(const std::string& type, const NetBase* net);

// Makes an observer for a net. Null if the net needs none.
using NetObserverCreator = std::function<std::unique_ptr<NetObserver>(const NetBase*)>;
// Calls `creator` for every net that CreateNet makes from now on, in the thread that makes the net,
// and attaches the observer that it returns. A lock is held during the call: `creator` must not
// create nets or add creators.
void AddGlobalNetObserverCreator(NetObserverCreator creator);
// Calls the global creators for one new net.
void AttachGlobalObservers(NetBase* net);

#define REGISTER_NET_OBSERVER(name, ...)                                                    \
  static ::caffe2::Registerer<std::string, ::caffe2::NetObserver, const ::caffe2::NetBase*> \
  CAFFE2_ANONYMOUS(net_observer_registerer_)(                                               \
      &::caffe2::NetObserverRegistry(), #name, [](const ::caffe2::NetBase* net) {           \
        return std::unique_ptr<::caffe2::NetObserver>(new __VA_ARGS__(net));                \
      })

}  // namespace caffe2
