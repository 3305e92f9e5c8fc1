#include "caffe2/core/plan_executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "caffe2/core/workspace.h"

namespace caffe2 {
namespace {

// Calls functions at fixed intervals, each on its own thread, until Finish() or destruction. Keeps
// the first exception for Finish().
class PeriodicRunner {
 public:
  ~PeriodicRunner() { Stop(); }

  void Start(std::chrono::milliseconds interval, std::function<bool()> function) {
    functions_.push_back(function);
    threads_.emplace_back([this, interval, function = std::move(function)] {
      std::unique_lock<std::mutex> lock(mutex_);
      while (!wake_.wait_for(lock, interval, [this] { return stopped_; })) {
        lock.unlock();
        try {
          function();
        } catch (...) {
          lock.lock();
          if (!error_) error_ = std::current_exception();
          return;
        }
        lock.lock();
      }
    });
  }

  // Ends the calls and rethrows the first exception. With `once_more`, then calls each function a
  // last time, so that it sees the final state; false if one of them returns false.
  bool Finish(bool once_more) {
    Stop();
    if (error_) std::rethrow_exception(error_);
    return !once_more || std::all_of(functions_.begin(), functions_.end(),
                                     [](const auto& function) { return function(); });
  }

 private:
  void Stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
  std::vector<std::function<bool()>> functions_;
};

class PlanRunner {
 public:
  PlanRunner(const PlanDef& plan, const ShouldContinue& should_continue)
      : plan_(plan), should_continue_(should_continue) {
    for (const NetDef& net : plan.network()) {
      CAFFE_ENFORCE(nets_.emplace(net.name(), &net).second, "plan ", plan.name(), ": net ",
                    net.name(), " is defined twice");
    }
  }

  bool Run(Workspace* ws) {
    for (const NetDef& net : plan_.network()) ws->DeleteNet(net.name());
    for (const ExecutionStep& step : plan_.execution_step()) {
      if (!step.create_workspace()) CreateNets(ws, step);
    }
    for (const ExecutionStep& step : plan_.execution_step()) {
      if (RunStep(ws, step)) continue;
      if (error_) std::rethrow_exception(error_);
      return false;
    }
    return true;
  }

 private:
  bool RunStep(Workspace* ws, const ExecutionStep& step) {
    std::shared_ptr<Workspace> child;  // Python operators may keep it
    if (step.create_workspace()) {
      child = std::make_shared<Workspace>(ws);
      CreateNets(child.get(), step);
      ws = child.get();
    }
    PeriodicRunner periodic;
    if (step.has_report_net()) {
      CAFFE_ENFORCE(step.report_interval() > 0, "step ", step.name(),
                    ": report_net needs a report_interval in seconds");
      NetBase* net = Net(ws, step, step.report_net());
      periodic.Start(std::chrono::seconds(step.report_interval()), [net] { return net->Run(); });
    }
    const bool ok = Iterate(ws, step);
    return periodic.Finish(/*once_more=*/ok) && ok;
  }

  bool Iterate(Workspace* ws, const ExecutionStep& step) {
    CAFFE_ENFORCE(!(step.has_should_stop_blob() && step.has_num_iter()), "step ", step.name(),
                  ": num_iter and should_stop_blob cannot be used together");
    CAFFE_ENFORCE(step.substep_size() == 0 || step.network_size() == 0, "step ", step.name(),
                  " has both substeps and nets");
    for (int64_t i = 0; HasIteration(step, i); ++i) {
      if (should_continue_ && !should_continue_(i)) return false;
      if (failed_.load() || ws->StopRequested()) return false;
      if (step.has_criteria_network() && !CriteriaHold(ws, step)) break;
      if (!RunOnce(ws, step)) return false;
      if (ShouldStop(*ws, step)) break;
    }
    return true;
  }

  static bool HasIteration(const ExecutionStep& step, int64_t i) {
    if (step.only_once()) return i == 0;
    if (step.has_num_iter()) return i < step.num_iter();
    if (step.has_should_stop_blob() || step.has_criteria_network()) return true;
    return i == 0;
  }

  bool RunOnce(Workspace* ws, const ExecutionStep& step) {
    for (const std::string& name : step.network()) {
      if (!Net(ws, step, name)->Run()) return false;
      if (ShouldStop(*ws, step)) return true;
    }
    if (step.concurrent_substeps()) return RunConcurrently(ws, step);
    PeriodicRunner periodic;
    StartPeriodicSubsteps(&periodic, ws, step);
    for (const ExecutionStep& substep : step.substep()) {
      if (substep.has_run_every_ms()) continue;
      if (!RunStep(ws, substep)) return false;
      if (ShouldStop(*ws, step)) break;
    }
    return periodic.Finish(/*once_more=*/true);
  }

  // Runs all substeps (and their instances) at once. The first failure stops the others, also those
  // that wait for something (a queue) that will never come.
  bool RunConcurrently(Workspace* ws, const ExecutionStep& step) {
    PeriodicRunner periodic;
    StartPeriodicSubsteps(&periodic, ws, step);
    std::atomic<bool> stopped_here{false};
    const auto fail = [&, this](const std::exception_ptr& error) {
      Fail(error);
      if (ws->StopRequested()) return;
      stopped_here = true;
      ws->RequestStop();
    };
    std::vector<std::thread> threads;
    try {
      for (const ExecutionStep& substep : step.substep()) {
        if (substep.has_run_every_ms()) continue;
        const int instances = std::max(1, substep.num_concurrent_instances());
        for (int k = 0; k < instances; ++k) {
          threads.emplace_back([&, this] {
            try {
              if (!RunStep(ws, substep)) fail(nullptr);
            } catch (...) {
              fail(std::current_exception());
            }
          });
        }
      }
    } catch (...) {  // a thread cannot be started
      fail(std::current_exception());
    }
    for (std::thread& thread : threads) thread.join();
    if (stopped_here) ws->ClearStop();
    return periodic.Finish(/*once_more=*/!failed_) && !failed_;
  }

  // Keeps the first failure of a concurrent step and its exception, if it is one. Exceptions of
  // steps that are then stopped say nothing new.
  void Fail(const std::exception_ptr& error) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failed_.exchange(true)) error_ = error;
  }

  void StartPeriodicSubsteps(PeriodicRunner* periodic, Workspace* ws, const ExecutionStep& step) {
    for (const ExecutionStep& substep : step.substep()) {
      if (!substep.has_run_every_ms()) continue;
      CAFFE_ENFORCE(substep.run_every_ms() > 0, "step ", substep.name(),
                    ": run_every_ms must be positive, found ", substep.run_every_ms());
      periodic->Start(std::chrono::milliseconds(substep.run_every_ms()),
                      [this, ws, &substep] { return RunStep(ws, substep); });
    }
  }

  NetBase* Net(Workspace* ws, const ExecutionStep& step, const std::string& name) const {
    NetBase* net = ws->GetNet(name);
    CAFFE_ENFORCE(net != nullptr, "plan ", plan_.name(), ", step ", step.name(),
                  ": no net is named ", name);
    return net;
  }

  // Creates the nets that the step runs in `ws`, each once. Nets of substeps with workspaces of
  // their own are created only there. Created here, they would make blobs that those workspaces
  // would share.
  void CreateNets(Workspace* ws, const ExecutionStep& step) const {
    auto create = [&](const std::string& name) {
      if (ws->GetNet(name) != nullptr) return;
      auto it = nets_.find(name);
      CAFFE_ENFORCE(it != nets_.end(), "plan ", plan_.name(), ", step ", step.name(),
                    ": no net is named ", name);
      ws->CreateNet(*it->second);
    };
    for (const std::string& name : step.network()) create(name);
    for (const ExecutionStep& substep : step.substep()) {
      if (!substep.create_workspace()) CreateNets(ws, substep);
    }
    if (step.has_report_net()) create(step.report_net());
    if (step.has_criteria_network()) create(step.criteria_network());
  }

  static bool ReadFlag(const Workspace& ws, const std::string& name) {
    const Blob* blob = ws.GetBlob(name);
    CAFFE_ENFORCE(blob != nullptr, "the flag blob ", name, " does not exist");
    const Tensor& flag = blob->Get<Tensor>();
    CAFFE_ENFORCE(flag.numel() == 1, "the flag blob ", name, " must hold one bool, found ",
                  flag.numel(), " elements");
    return *flag.data<bool>();
  }

  // False as long as nothing has written the blob.
  static bool ShouldStop(const Workspace& ws, const ExecutionStep& step) {
    if (!step.has_should_stop_blob()) return false;
    const Blob* blob = ws.GetBlob(step.should_stop_blob());
    return (blob == nullptr || blob->meta()) && ReadFlag(ws, step.should_stop_blob());
  }

  bool CriteriaHold(Workspace* ws, const ExecutionStep& step) const {
    NetBase* net = Net(ws, step, step.criteria_network());
    CAFFE_ENFORCE(!net->external_output().empty(), "criteria net ", net->Name(),
                  " has no external output");
    CAFFE_ENFORCE(net->Run(), "criteria net ", net->Name(), " failed");
    return ReadFlag(*ws, net->external_output()[0]);
  }

  const PlanDef& plan_;
  const ShouldContinue& should_continue_;
  std::map<std::string, const NetDef*> nets_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;  // of the step that failed first
};

}  // namespace

bool RunPlanOnWorkspace(Workspace* ws, const PlanDef& plan, const ShouldContinue& should_continue) {
  return PlanRunner(plan, should_continue).Run(ws);
}

}  // namespace caffe2
