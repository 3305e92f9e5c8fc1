// An executable net: the operators of a NetDef and the order they run in.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/registry.h"

namespace caffe2 {

class NetObserver;
class Workspace;

// Called before each iteration of a plan's step, with the number of the iteration. False ends the
// plan. Concurrent steps call it from several threads at once.
using ShouldContinue = std::function<bool(int64_t)>;

// Base of all executors. One thread runs a net at a time.
class NetBase {
 public:
  // Creates the operators. Every input must exist in the workspace or be written by an earlier
  // operator; otherwise throws EnforceNotMet, naming the net, the operator and the blob.
  NetBase(const std::shared_ptr<const NetDef>& net_def, Workspace* ws);
  virtual ~NetBase();
  NetBase(const NetBase&) = delete;
  NetBase& operator=(const NetBase&) = delete;

  // Runs all operators once and waits for them. False if an operator returned false; that operator
  // has reported why, for instance through a status blob. An Error of an operator is rethrown with
  // the net and the operator's index, type and name added, and an EnforceNotMet also with the types
  // and shapes of its inputs. A std::bad_alloc becomes an OutOfMemoryError, and any other
  // std::exception an Error with its text. Throws Error if a stop was requested
  // (Workspace::RequestStop).
  virtual bool Run() = 0;

  const std::string& Name() const { return name_; }
  // No other net of the process has, had or will have this number.
  uint64_t id() const { return id_; }
  Workspace* workspace() const { return ws_; }
  const NetDef& net_def() const { return *net_def_; }
  const std::vector<std::string>& external_input() const { return external_input_; }
  const std::vector<std::string>& external_output() const { return external_output_; }
  // In definition order.
  const std::vector<std::unique_ptr<OperatorBase>>& operators() const { return operators_; }

  // Calls the observer in every run from now on. Must not be called while the net runs.
  NetObserver* AttachObserver(std::shared_ptr<NetObserver> observer);
  // Null if this net has no such observer.
  std::shared_ptr<NetObserver> DetachObserver(const NetObserver* observer);
  size_t NumObservers() const { return observers_.size(); }
  // True if an observer watches single operators, not only whole runs.
  bool ObservesOperators() const;

  // The positions of the operators' random streams. Each operator's position is followed by the
  // positions of the nets that it runs (If, While, Do): CountOperators(net_def) numbers in all.
  // SetRandomState restores them. It throws EnforceNotMet if their number is wrong.
  std::vector<uint64_t> RandomState() const;
  void SetRandomState(const std::vector<uint64_t>& state);

 protected:
  // Tells the observers when a run begins and ends. Executors hold one during Run().
  class ObservedRun {
   public:
    explicit ObservedRun(const NetBase* net);
    ~ObservedRun();
    ObservedRun(const ObservedRun&) = delete;
    ObservedRun& operator=(const ObservedRun&) = delete;

   private:
    const NetBase* net_;
  };

  // Starts operator i and adds the operator and the net to its errors. With observers of operators,
  // also waits for its work. Throws Error if a stop was requested.
  bool RunOperator(size_t i);
  // Runs operator i and waits for its work. Calls the observers of operators before and after.
  bool RunObserved(size_t i);
  // How errors name an operator: "net train, operator 3, Conv conv1".
  std::string DescribeOperator(size_t i) const;
  [[noreturn]] void RethrowWithContext(size_t i) const;

  const uint64_t id_;
  Workspace* ws_;
  std::string name_;
  std::shared_ptr<const NetDef> net_def_;
  std::vector<std::string> external_input_;
  std::vector<std::string> external_output_;
  std::vector<std::unique_ptr<OperatorBase>> operators_;
  std::vector<std::shared_ptr<NetObserver>> observers_;
};

// Executors by NetDef.type: simple; dag and its aliases; cuda_graph with the CUDA backend.
Registry<std::string, NetBase, const std::shared_ptr<const NetDef>&, Workspace*>& NetRegistry();
#define REGISTER_NET(name, ...)                                                             \
  static ::caffe2::Registerer<std::string, ::caffe2::NetBase,                               \
                              const std::shared_ptr<const ::caffe2::NetDef>&,               \
                              ::caffe2::Workspace*>                                         \
  CAFFE2_ANONYMOUS(net_registerer_)(                                                        \
      &::caffe2::NetRegistry(), #name,                                                      \
      [](const std::shared_ptr<const ::caffe2::NetDef>& net_def, ::caffe2::Workspace* ws) { \
        return std::unique_ptr<::caffe2::NetBase>(new __VA_ARGS__(net_def, ws));            \
      })

// Makes the executor that NetDef.type names ("" means simple). Throws EnforceNotMet for an unknown
// type and lists the known ones.
std::unique_ptr<NetBase> CreateNet(const std::shared_ptr<const NetDef>& net_def, Workspace* ws);

}  // namespace caffe2
