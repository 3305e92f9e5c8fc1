#include "python/pybind_active_runs.h"

#include <pthread.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "caffe2/core/nested_net.h"

namespace caffe2::python {
namespace {

thread_local int runs_of_this_thread = 0;
thread_local const OperatorBase* operator_of_this_thread = nullptr;
// The operator through which this thread, without a run of its own, serves a run.
thread_local const OperatorBase* outermost_operator = nullptr;

// A tensor that a run shares with an earlier one.
struct Pinned {
  std::shared_ptr<Tensor> tensor;
  uint64_t other;  // the earlier run
};

struct Run {
  Workspace* ws;
  const NetBase* net = nullptr;      // or
  const OperatorBase* op = nullptr;  // or
  const PlanDef* plan = nullptr;     // or none of them
  std::thread::id thread = std::this_thread::get_id();
  std::vector<Pinned> pinned = {};
  // Was pinned for this run and another one that has ended. An operator may use the object still,
  // even if the other run has put another one into the blob.
  std::set<std::shared_ptr<Tensor>> kept = {};
};

// The blobs that two nets use and one of them writes, but for blobs that queues exchange. They
// never change.
using SharedBlobs = std::vector<std::weak_ptr<const Blob>>;

struct Runs {
  std::mutex mutex;  // runs end without the GIL
  uint64_t next_id = 0;
  std::map<uint64_t, Run> active;
  std::set<Workspace*> stopped;  // were told to stop, and still run
  // By the numbers of the nets. To find them takes about as long as a small net runs.
  std::map<std::pair<uint64_t, uint64_t>, SharedBlobs> shared_by_nets;
};

void ForgetRunsOfParent(Runs* runs) {
  for (const auto& [id, run] : runs->active) {
    for (const Pinned& pinned : run.pinned) pinned.tensor->Unpin();
  }
  new auto(std::exchange(runs->active, {}));  // what they hold may need the GIL to be destroyed
  for (Workspace* ws : std::exchange(runs->stopped, {})) ws->ClearStop();
}

// Never destroyed: threads may run nets while the process ends. A fork waits for the mutex, and
// then for the mutexes of workspaces (ForkSafeMutex), as the functions below lock them.
Runs& AllRuns() {
  static auto* runs = [] {
    pthread_atfork([] { AllRuns().mutex.lock(); }, [] { AllRuns().mutex.unlock(); },
                   [] {
                     ForgetRunsOfParent(&AllRuns());
                     AllRuns().mutex.unlock();
                   });
    return new Runs;
  }();
  return *runs;
}

bool IsWithin(const Workspace* ws, const Workspace* ancestor) {
  while (ws != nullptr && ws != ancestor) ws = ws->parent();
  return ws != nullptr;
}

bool RunsIn(const Runs& runs, const Workspace* ws) {
  return std::any_of(runs.active.begin(), runs.active.end(),
                     [ws](const auto& entry) { return entry.second.ws == ws; });
}

std::vector<Workspace*> WorkspacesThatRunWithin(const Workspace* ancestor) {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  std::vector<Workspace*> workspaces;
  for (const auto& [id, run] : runs.active) {
    if (IsWithin(run.ws, ancestor)) workspaces.push_back(run.ws);
  }
  return workspaces;
}

template <class Names>
bool Contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool HasNet(const PlanDef& plan, const std::string& name) {
  return std::any_of(plan.network().begin(), plan.network().end(),
                     [&name](const NetDef& net) { return net.name() == name; });
}

bool IsRunOf(const Run& run, const NetBase* net) {
  return run.net == net ||
         (run.plan != nullptr && run.ws == net->workspace() && HasNet(*run.plan, net->Name()));
}

// True if match(op) is for an operator of the net, or the single operator.
template <typename Match>
bool AnyOperator(const Run& run, const Match& match) {
  if (run.op != nullptr) return match(*run.op);
  return run.net != nullptr && std::any_of(run.net->operators().begin(), run.net->operators().end(),
                                           [&match](const auto& op) { return match(*op); });
}

bool HasOperator(const Run& run, const OperatorBase* op) {
  return AnyOperator(run, [op](const OperatorBase& own) { return &own == op; });
}

template <typename Visit>
bool AnyBlobOfNets(const Workspace& ws, const OperatorDef& op, const Visit& visit);

// How an operator uses a blob. Queues exchange the objects of blobs, `Free` drops them.
enum class Use { kRead, kWrite, kExchange };

bool Exchanges(const std::string& type) {
  static const std::set<std::string> types = {
      "EnqueueBlobs",     "SafeEnqueueBlobs",           "DequeueBlobs",
      "SafeDequeueBlobs", "WeightedSampleDequeueBlobs", "Free"};
  return types.count(type) > 0;
}

// The next four: true once visit(blob, use) is. First: blobs by their names.
template <typename Names, typename Visit>
bool AnyBlobNamed(const Workspace& ws, const Names& names, Use use, const Visit& visit) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const Blob* blob = ws.GetBlob(name);
    return blob != nullptr && visit(blob, use);
  });
}

template <typename Visit>
bool AnyBlobOfNet(const Workspace& ws, const NetDef& net, const Visit& visit) {
  return std::any_of(net.op().begin(), net.op().end(), [&](const OperatorDef& op) {
    const bool exchanges = Exchanges(op.type());
    return AnyBlobNamed(ws, op.input(), exchanges ? Use::kExchange : Use::kRead, visit) ||
           AnyBlobNamed(ws, op.output(), exchanges ? Use::kExchange : Use::kWrite, visit) ||
           AnyBlobOfNets(ws, op, visit);
  });
}

// The blobs of the nets in an operator's arguments. A recurrent network names its states in
// arguments.
template <typename Visit>
bool AnyBlobOfNets(const Workspace& ws, const OperatorDef& op, const Visit& visit) {
  if (op.type() == "Do" || !HasNetArgument(op)) return false;
  return std::any_of(op.arg().begin(), op.arg().end(), [&](const Argument& argument) {
    return AnyBlobNamed(ws, argument.strings(), Use::kWrite, visit) ||
           AnyBlobOfNet(ws, argument.n(), visit) ||
           std::any_of(argument.nets().begin(), argument.nets().end(),
                       [&](const NetDef& net) { return AnyBlobOfNet(ws, net, visit); });
  });
}

// Of a plan by the definition: it makes its nets in the course of its run.
template <typename Visit>
bool AnyBlob(const Run& run, const Visit& visit) {
  if (run.plan != nullptr) {
    return std::any_of(run.plan->network().begin(), run.plan->network().end(),
                       [&](const NetDef& net) { return AnyBlobOfNet(*run.ws, net, visit); });
  }
  return AnyOperator(run, [&](const OperatorBase& op) {
    const auto& inputs = op.Inputs();
    const auto& outputs = op.Outputs();
    const bool exchanges = Exchanges(op.type());
    const Use of_inputs = exchanges ? Use::kExchange : Use::kRead;
    const Use of_outputs = exchanges ? Use::kExchange : Use::kWrite;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Blob* blob) { return visit(blob, of_inputs); }) ||
           std::any_of(outputs.begin(), outputs.end(),
                       [&](const Blob* blob) { return visit(blob, of_outputs); }) ||
           AnyBlobOfNets(*run.ws, op.debug_def(), visit);
  });
}

// False for the making of a net, and for what holds the workspace around a run.
bool HasBlobs(const Run& run) {
  return run.net != nullptr || run.op != nullptr || run.plan != nullptr;
}

SharedBlobs FindSharedBlobs(const Run& a, const Run& b) {
  std::unordered_map<const Blob*, bool> of_a;  // whether it writes the blob
  std::set<const Blob*> shared, exchanged;
  AnyBlob(a, [&](const Blob* blob, Use use) {
    of_a[blob] |= use == Use::kWrite;
    if (use == Use::kExchange) exchanged.insert(blob);
    return false;
  });
  AnyBlob(b, [&](const Blob* blob, Use use) {
    const auto in_a = of_a.find(blob);
    if (in_a != of_a.end() && (use == Use::kWrite || in_a->second)) shared.insert(blob);
    if (use == Use::kExchange) exchanged.insert(blob);
    return false;
  });
  SharedBlobs blobs;
  for (const Blob* blob : shared) {
    if (exchanged.count(blob) == 0) blobs.push_back(blob->weak_from_this());
  }
  return blobs;
}

// The result may be `buffer`.
const SharedBlobs& BlobsSharedBy(const Run& a, const Run& b, Runs* runs, SharedBlobs* buffer) {
  if (a.net == nullptr || b.net == nullptr) return *buffer = FindSharedBlobs(a, b);
  constexpr size_t kMostPairs = 1000;
  if (runs->shared_by_nets.size() >= kMostPairs) runs->shared_by_nets.clear();
  const auto [entry, is_new] = runs->shared_by_nets.try_emplace({a.net->id(), b.net->id()});
  if (is_new) entry->second = FindSharedBlobs(a, b);
  return entry->second;
}

// True if this thread is a part of the run. An operator on a thread of its net knows the net by
// its operators; one whose net runs in another net or in a plan counts as a part of all runs.
bool IsOwn(const Runs& runs, const Run& run) {
  if (run.thread == std::this_thread::get_id()) return true;
  const OperatorBase* op = outermost_operator;
  if (op == nullptr) return false;
  return HasOperator(run, op) ||
         std::none_of(runs.active.begin(), runs.active.end(),
                      [op](const auto& entry) { return HasOperator(entry.second, op); });
}

std::string Described(const Run& run) {
  if (run.op != nullptr) return "operator " + run.op->type();
  return run.plan != nullptr ? "plan " + run.plan->name() : "net " + run.net->Name();
}

// Null if it holds no tensor with data.
std::shared_ptr<Tensor> TensorIn(const std::weak_ptr<const Blob>& blob) {
  const auto held = std::const_pointer_cast<Blob>(blob.lock());
  auto tensor = held == nullptr ? nullptr : held->GetShared<Tensor>();
  return tensor != nullptr && tensor->has_data() ? tensor : nullptr;
}

// Begins a run: pins what it shares with the runs of other threads.
uint64_t Begin(Run run, Runs* runs) {
  for (const auto& [id, other] : runs->active) {
    if (!HasBlobs(run) || !HasBlobs(other) || IsOwn(*runs, other)) continue;
    SharedBlobs buffer;
    for (const auto& blob : BlobsSharedBy(other, run, runs, &buffer)) {
      if (auto tensor = TensorIn(blob)) run.pinned.push_back({std::move(tensor), id});
    }
  }
  for (const Pinned& pinned : run.pinned) pinned.tensor->Pin();
  const uint64_t id = runs->next_id++;
  runs->active.emplace(id, std::move(run));
  ++runs_of_this_thread;
  return id;
}

// Ends a run and the pins between it and others. They keep the tensors, and so does the result, for
// the caller to destroy when the mutex is free.
Run End(uint64_t id, Runs* runs) {
  const auto entry = runs->active.find(id);
  if (entry == runs->active.end()) return {nullptr};  // of the process that forked this one
  Run run = std::move(entry->second);
  runs->active.erase(entry);
  for (const Pinned& pinned : run.pinned) {
    pinned.tensor->Unpin();
    runs->active.at(pinned.other).kept.insert(pinned.tensor);
  }
  for (auto& [later_id, later] : runs->active) {
    std::erase_if(later.pinned, [id, &later = later](const Pinned& pinned) {
      if (pinned.other != id) return false;
      pinned.tensor->Unpin();
      later.kept.insert(pinned.tensor);
      return true;
    });
  }
  return run;
}

void EnforceIsNot(const NetBase& net, const Run& run) {
  CAFFE_ENFORCE(!IsRunOf(run, &net), "cannot run net ", net.Name(), " while it runs");
}

void EnforceMakesNoNetOf(const Run& run, const PlanDef& plan, const Workspace* ws) {
  for (const NetDef& made : plan.network()) {
    const bool runs_it = (run.net != nullptr && run.ws == ws && run.net->Name() == made.name()) ||
                         (run.plan != nullptr && run.ws == ws && HasNet(*run.plan, made.name()));
    CAFFE_ENFORCE(!runs_it, "plan ", plan.name(), " cannot overwrite net ", made.name(),
                  " while it runs");
  }
}

// Throws if another thread runs something for which uses(run) is true.
template <typename Uses>
void EnforceNoUse(const Uses& uses, const std::string& action) {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  for (const auto& [id, run] : runs.active) {
    CAFFE_ENFORCE(IsOwn(runs, run) || !uses(run), action, " while ", Described(run),
                  ", which uses it, runs in another thread");
  }
}

}  // namespace

ActiveRun::ActiveRun(Workspace* ws) : ws_(ws) {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  id_ = Begin({.ws = ws}, &runs);
}

ActiveRun::ActiveRun(Workspace* ws, const NetBase& net) : ws_(ws) {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  for (const auto& [id, run] : runs.active) EnforceIsNot(net, run);
  id_ = Begin({.ws = ws, .net = &net}, &runs);
}

ActiveRun::ActiveRun(Workspace* ws, const OperatorBase& op) : ws_(ws) {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  id_ = Begin({.ws = ws, .op = &op}, &runs);
}

ActiveRun::ActiveRun(Workspace* ws, const PlanDef& plan) : ws_(ws) {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  for (const auto& [id, run] : runs.active) EnforceMakesNoNetOf(run, plan, ws);
  id_ = Begin({.ws = ws, .plan = &plan}, &runs);
}

ActiveRun::~ActiveRun() {
  Runs& runs = AllRuns();
  Run ended{nullptr};
  const std::lock_guard<std::mutex> lock(runs.mutex);
  ended = End(id_, &runs);
  --runs_of_this_thread;
  // The last run lets the workspace be used again, so that all others have seen the stop.
  if (!runs.stopped.empty() && !RunsIn(runs, ws_) && runs.stopped.erase(ws_)) ws_->ClearStop();
}

InsideOperator::InsideOperator(const OperatorBase* op)
    : outer_(operator_of_this_thread), outermost_(outermost_operator) {
  operator_of_this_thread = op;
  if (runs_of_this_thread == 0 && outermost_operator == nullptr) outermost_operator = op;
}
InsideOperator::~InsideOperator() {
  operator_of_this_thread = outer_;
  outermost_operator = outermost_;
}

void StopRuns(Workspace* ws) {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  if (!RunsIn(runs, ws)) return;
  runs.stopped.insert(ws);
  ws->RequestStop();
}

bool AnyRunIsActive() {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  return !runs.active.empty();
}

void EnforceNetIsIdle(const NetBase* net, const std::string& action) {
  if (net == nullptr) return;
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  for (const auto& [id, run] : runs.active) {
    CAFFE_ENFORCE(!IsRunOf(run, net), action, " while it runs");
  }
}

void EnforceBlobIsIdle(const Blob* blob, const std::string& action) {
  if (blob == nullptr) return;
  const auto is_blob = [blob](const Blob* used, Use) { return used == blob; };
  EnforceNoUse([&](const Run& run) { return AnyBlob(run, is_blob); }, action);
}

void EnforceTensorIsIdle(const Tensor& tensor, const std::string& action) {
  const auto holds_it = [&tensor](const Blob* used, Use) { return BlobTensor(*used) == &tensor; };
  EnforceNoUse([&](const Run& run) { return AnyBlob(run, holds_it); }, action);
}

void EndRuns(Workspace* ws, std::chrono::milliseconds patience, const std::string& action) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (auto running = WorkspacesThatRunWithin(ws); !running.empty();
       running = WorkspacesThatRunWithin(ws)) {
    CAFFE_ENFORCE(runs_of_this_thread == 0 && operator_of_this_thread == nullptr, action,
                  " while a net runs there");
    CAFFE_ENFORCE(std::chrono::steady_clock::now() < deadline, action,
                  ": a net runs there in another thread and does not stop");
    for (Workspace* workspace : running) StopRuns(workspace);
    const pybind11::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace caffe2::python
