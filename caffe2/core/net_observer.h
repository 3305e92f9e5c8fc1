// What watches a net run: times, counts, profiles.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "caffe2/core/registry.h"

namespace caffe2 {

class NetBase;

// Attached to one net (NetBase::AttachObserver), which it must not outlive. Parallel executors
// tell of operators from several threads at once.
class NetObserver {
 public:
  virtual ~NetObserver() = default;
  // False for one that is told of whole runs only. Such a one costs nothing for each operator, and
  // what runs asynchronously on a device goes on doing so. Constant.
  virtual bool WatchesOperators() const { return true; }
  virtual void NetStarts() {}
  virtual void NetStops() {}  // after failures too
  // Operator i, counted in the order of the definition. One that throws does not stop.
  virtual void OperatorStarts(size_t /*i*/) {}
  virtual void OperatorStops(size_t /*i*/) {}

  // Milliseconds of a run of the net, the mean over all runs; 0 before the first, and for
  // observers that take no time.
  virtual float AverageTime() const { return 0.f; }
  // Milliseconds of one operator run, the mean over all operators and runs.
  virtual float AverageTimeChildren() const { return 0.f; }
  // What was seen, for people.
  virtual std::string DebugInfo() const { return "Not implemented."; }
};

// Observers by Caffe2's names: TimeObserver (times of net and operators), ProfileObserver (the
// same, and the time of each operator as its DebugInfo), RunCountObserver (counts operator runs).
Registry<std::string, NetObserver, const NetBase*>& NetObserverRegistry();
// Throws for an unknown type and lists the known ones.
std::unique_ptr<NetObserver> CreateNetObserver(const std::string& type, const NetBase* net);

// Makes the observer of a net, or null for a net that it does not watch.
using NetObserverCreator = std::function<std::unique_ptr<NetObserver>(const NetBase*)>;
// Attaches what `creator` makes to every net that CreateNet makes from now on, in any thread.
void AddGlobalNetObserverCreator(NetObserverCreator creator);
// Does so for one new net.
void AttachGlobalObservers(NetBase* net);

#define REGISTER_NET_OBSERVER(name, ...)                                                    \
  static ::caffe2::Registerer<std::string, ::caffe2::NetObserver, const ::caffe2::NetBase*> \
  CAFFE2_ANONYMOUS(net_observer_registerer_)(                                               \
      &::caffe2::NetObserverRegistry(), #name, [](const ::caffe2::NetBase* net) {           \
        return std::unique_ptr<::caffe2::NetObserver>(new __VA_ARGS__(net));                \
      })

}  // namespace caffe2
