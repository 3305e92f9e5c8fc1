#include "python/pybind_active_runs.h"

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace caffe2::python {
namespace {

thread_local int runs_of_this_thread = 0;
thread_local const OperatorBase* operator_of_this_thread = nullptr;

struct Run {
  Workspace* ws;
  const NetBase* net;   // or null
  const PlanDef* plan;  // or null
  std::thread::id thread;
};

struct Runs {
  const pid_t process = getpid();
  std::mutex mutex;  // runs end without the GIL
  uint64_t next_id = 0;
  std::map<uint64_t, Run> active;
  std::set<Workspace*> stopped;  // were told to stop, and still run
};

// Never destroyed: threads may run nets while the process ends. A forked process gets its own, as
// the parent's mutex may be locked and its threads are not there.
Runs& AllRuns() {
  static Runs* runs = new Runs;
  if (runs->process != getpid()) runs = new Runs;
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

bool HasOperator(const Run& run, const OperatorBase* op) {
  return run.net != nullptr && std::any_of(run.net->operators().begin(), run.net->operators().end(),
                                           [op](const auto& own) { return own.get() == op; });
}

// By the definition: the plan makes its nets in the course of its run.
bool Uses(const Run& run, const NetDef& net, const Blob* blob) {
  const auto is_blob = [&](const std::string& name) { return run.ws->GetBlob(name) == blob; };
  return std::any_of(net.op().begin(), net.op().end(), [&](const OperatorDef& op) {
    return std::any_of(op.input().begin(), op.input().end(), is_blob) ||
           std::any_of(op.output().begin(), op.output().end(), is_blob);
  });
}

bool Uses(const Run& run, const Blob* blob) {
  if (run.plan != nullptr) {
    return std::any_of(run.plan->network().begin(), run.plan->network().end(),
                       [&](const NetDef& net) { return Uses(run, net, blob); });
  }
  return run.net != nullptr &&
         std::any_of(run.net->operators().begin(), run.net->operators().end(),
                     [blob](const auto& op) {
                       const auto& inputs = op->Inputs();
                       const auto& outputs = op->Outputs();
                       return std::find(inputs.begin(), inputs.end(), blob) != inputs.end() ||
                              std::find(outputs.begin(), outputs.end(), blob) != outputs.end();
                     });
}

// True if this thread is a part of the run. An operator on a thread of its net knows the net by
// its operators; one whose net runs in another net or in a plan counts as a part of all runs.
bool IsOwn(const Runs& runs, const Run& run) {
  if (run.thread == std::this_thread::get_id()) return true;
  const OperatorBase* op = operator_of_this_thread;
  if (op == nullptr || runs_of_this_thread > 0) return false;
  return HasOperator(run, op) ||
         std::none_of(runs.active.begin(), runs.active.end(),
                      [op](const auto& entry) { return HasOperator(entry.second, op); });
}

std::string Described(const Run& run) {
  return run.plan != nullptr ? "plan " + run.plan->name() : "net " + run.net->Name();
}

}  // namespace

ActiveRun::ActiveRun(Workspace* ws, const NetBase* net) : ActiveRun(ws, net, nullptr) {}
ActiveRun::ActiveRun(Workspace* ws, const PlanDef& plan) : ActiveRun(ws, nullptr, &plan) {}

ActiveRun::ActiveRun(Workspace* ws, const NetBase* net, const PlanDef* plan) : ws_(ws) {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  for (const auto& [id, run] : runs.active) {
    CAFFE_ENFORCE(net == nullptr || !IsRunOf(run, net), "cannot run net ", net->Name(),
                  " while it runs");
    if (plan == nullptr) continue;
    for (const NetDef& made : plan->network()) {
      const bool runs_it = (run.net != nullptr && run.ws == ws && run.net->Name() == made.name()) ||
                           (run.plan != nullptr && run.ws == ws && HasNet(*run.plan, made.name()));
      CAFFE_ENFORCE(!runs_it, "plan ", plan->name(), " cannot overwrite net ", made.name(),
                    " while it runs");
    }
  }
  id_ = runs.next_id++;
  runs.active[id_] = {ws, net, plan, std::this_thread::get_id()};
  ++runs_of_this_thread;
}

ActiveRun::~ActiveRun() {
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  runs.active.erase(id_);
  --runs_of_this_thread;
  // The last run lets the workspace be used again, so that all others have seen the stop.
  if (!runs.stopped.empty() && !RunsIn(runs, ws_) && runs.stopped.erase(ws_)) ws_->ClearStop();
}

InsideOperator::InsideOperator(const OperatorBase* op) : outer_(operator_of_this_thread) {
  operator_of_this_thread = op;
}
InsideOperator::~InsideOperator() { operator_of_this_thread = outer_; }

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
  Runs& runs = AllRuns();
  const std::lock_guard<std::mutex> lock(runs.mutex);
  for (const auto& [id, run] : runs.active) {
    CAFFE_ENFORCE(IsOwn(runs, run) || !Uses(run, blob), action, " while ", Described(run),
                  ", which uses it, runs in another thread");
  }
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
