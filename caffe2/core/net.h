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

// Asked between iterations of a plan; false ends it. The argument is the iteration.
using ShouldContinue = std::function<bool(int64_t)>;

// Base of all executors. One thread runs a net at a time.
class NetBase {
 public:
  // Checks the definition against the workspace: every input must exist there or be written by an
  // earlier operator. Throws EnforceNotMet that names net, operator and blob.
  NetBase(const std::shared_ptr<const NetDef>& net_def, Workspace* ws);
  virtual ~NetBase();
  NetBase(const NetBase&) = delete;
  NetBase& operator=(const NetBase&) = delete;

  // Runs all operators once and waits for them. False if an operator returned false (it then has
  // said why in its own way, for instance through a status blob). Exceptions of operators pass
  // with the net, operator index, type and name added.
  virtual bool Run() = 0;

  const std::string& Name() const { return name_; }
  Workspace* workspace() const { return ws_; }
  const NetDef& net_def() const { return *net_def_; }
  const std::vector<std::string>& external_input() const { return external_input_; }
  const std::vector<std::string>& external_output() const { return external_output_; }
  // In the order of the definition.
  const std::vector<std::unique_ptr<OperatorBase>>& operators() const { return operators_; }

  // Observers are told of every run from now on. They must not change while the net runs.
  NetObserver* AttachObserver(std::unique_ptr<NetObserver> observer);
  // Null if this net has no such observer.
  std::unique_ptr<NetObserver> DetachObserver(const NetObserver* observer);
  size_t NumObservers() const { return observers_.size(); }
  // True if an observer is told of single operators, not of whole runs only.
  bool ObservesOperators() const;

  // The positions of all operators' random streams, each operator's followed by those of the nets
  // it runs (If, While, Do), and their restoration. One number for each of CountOperators(net_def).
  std::vector<uint64_t> RandomState() const;
  void SetRandomState(const std::vector<uint64_t>& state);

 protected:
  // Tells the observers when a run of the net begins and ends; executors hold one during Run().
  class ObservedRun {
   public:
    explicit ObservedRun(const NetBase* net);
    ~ObservedRun();
    ObservedRun(const ObservedRun&) = delete;
    ObservedRun& operator=(const ObservedRun&) = delete;

   private:
    const NetBase* net_;
  };

  // Runs operator i, with context added to errors; throws if a stop was requested.
  bool RunOperator(size_t i);
  // Runs operator i and nothing else but telling the observers.
  bool RunObserved(size_t i);
  // "net "train", operator 3 (Conv "conv1")": how errors name an operator.
  std::string DescribeOperator(size_t i) const;
  [[noreturn]] void RethrowWithContext(size_t i) const;

  Workspace* ws_;
  std::string name_;
  std::shared_ptr<const NetDef> net_def_;
  std::vector<std::string> external_input_;
  std::vector<std::string> external_output_;
  std::vector<std::unique_ptr<OperatorBase>> operators_;
  std::vector<std::unique_ptr<NetObserver>> observers_;
};

// NetDef.type -> executor. Known: simple, and dag with its aliases.
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

// Makes the executor that NetDef.type names ("" is simple). Throws for an unknown type and lists
// the known ones.
std::unique_ptr<NetBase> CreateNet(const std::shared_ptr<const NetDef>& net_def, Workspace* ws);

}  // namespace caffe2
