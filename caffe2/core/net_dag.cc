// The parallel executor: independent branches run at the same time.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/core/device_waits.h"
#include "caffe2/core/event_count.h"
#include "caffe2/core/net.h"
#include "caffe2/core/operator_graph.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {
namespace {

// The chains that are ready to run, first in first out. Every chain is pushed at most once in a
// run, so slots are not reused and taking a position is one atomic increment.
class ReadyQueue {
 public:
  void Init(size_t capacity) { slots_ = std::vector<std::atomic<int>>(capacity); }

  void Reset(const std::vector<int>& ready) {
    for (auto& slot : slots_) slot.store(kEmpty, std::memory_order_relaxed);
    for (size_t i = 0; i < ready.size(); ++i) slots_[i].store(ready[i], std::memory_order_relaxed);
    head_.store(0, std::memory_order_relaxed);
    tail_.store(ready.size(), std::memory_order_relaxed);
  }

  void Push(int chain) {
    slots_[tail_.fetch_add(1, std::memory_order_relaxed)].store(chain, std::memory_order_release);
    event_.Notify();
  }

  // The next chain, or -1 once `done` is set.
  int Pop(const std::atomic<bool>& done) {
    const size_t ticket = head_.fetch_add(1, std::memory_order_relaxed);
    int chain = kEmpty;
    event_.Await([&] {
      if (ticket < slots_.size()) chain = slots_[ticket].load(std::memory_order_acquire);
      return chain != kEmpty || done.load(std::memory_order_acquire);
    });
    return chain;
  }

  void NotifyDone() { event_.Notify(); }

 private:
  static constexpr int kEmpty = -1;
  std::vector<std::atomic<int>> slots_;
  std::atomic<size_t> head_{0}, tail_{0};
  EventCount event_;
};

// Computing chains run on the calling thread and on num_workers - 1 other threads (default: one
// worker for each processor, at most 4). Operators that wait for other processes run on one further
// thread, in the order in which they become ready. So communication overlaps computation even with
// one worker.
//
// The net argument in_order = 1 runs the computing operators one by one in definition order, with
// communication beside them. A net with planned memory needs this.
class DagNet final : public NetBase {
 public:
  DagNet(const std::shared_ptr<const NetDef>& net_def, Workspace* ws) : NetBase(net_def, ws) {
    BuildGraph();
    const int cores = AvailableCores();
    int workers = std::clamp(cores, 1, 4);
    if (net_def->num_workers() > 0) workers = std::min(net_def->num_workers(), 64);
    if (InOrder()) workers = 1;
    workers = std::min<int>(workers, std::max<size_t>(1, chains_.size()));
    try {
      for (int i = 1; i < workers; ++i) StartThread(kCompute);
      if (has_communication_) StartThread(kCommunicate);
    } catch (...) {  // a thread cannot be started
      StopThreads();
      throw;
    }
  }

  ~DagNet() override { StopThreads(); }

  bool Run() override {
    CAFFE_ENFORCE(
        !IsForked(), "net ", Name(),
        " was created before this process was forked, and its threads stayed in the other "
        "process: create it again, here");
    const ObservedRun observed(this);
    if (chains_.empty()) return true;
    for (size_t c = 0; c < chains_.size(); ++c) {
      pending_[c].store(num_parents_[c], std::memory_order_relaxed);
    }
    remaining_.store(static_cast<int>(chains_.size()), std::memory_order_relaxed);
    ok_.store(true, std::memory_order_relaxed);
    error_ = nullptr;
    queues_[kCompute].Reset(roots_[kCompute]);
    queues_[kCommunicate].Reset(roots_[kCommunicate]);
    active_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
    done_.store(false, std::memory_order_release);
    run_.fetch_add(1, std::memory_order_seq_cst);
    start_.Notify();
    Work(kCompute);
    // The next run resets the queues, so no thread may still use them.
    finished_.Await([this] { return active_.load(std::memory_order_acquire) == 0; });
    if (error_) std::rethrow_exception(error_);
    FinishNet(*this);
    return ok_.load(std::memory_order_relaxed);
  }

 private:
  enum Lane { kCompute = 0, kCommunicate = 1 };

  // True in a process that was forked after the net had been created: it has none of its threads.
  bool IsForked() const { return !threads_.empty() && process_ != getpid(); }
  bool InOrder() const { return ArgumentHelper(*net_def_).GetSingleArgument("in_order", false); }

  void BuildGraph() {
    OperatorGraph graph = BuildOperatorGraph(*net_def_);
    std::vector<int> lane;
    for (const auto& op : operators_) {
      lane.push_back(op->IsCommunication() ? kCommunicate : kCompute);
      has_communication_ = has_communication_ || op->IsCommunication();
    }
    if (InOrder()) ChainLane(kCompute, lane, &graph);
    chains_ = BuildChains(graph, lane);
    std::vector<int> chain_of(operators_.size());
    for (size_t c = 0; c < chains_.size(); ++c) {
      for (int op : chains_[c]) chain_of[op] = static_cast<int>(c);
    }
    children_.resize(chains_.size());
    num_parents_.resize(chains_.size());
    pending_ = std::vector<std::atomic<int>>(chains_.size());
    for (size_t c = 0; c < chains_.size(); ++c) {
      lane_.push_back(static_cast<Lane>(lane[chains_[c][0]]));
      // Only the first operator of a chain has parents outside the chain.
      std::vector<int> parents;
      for (int parent : graph.parents[chains_[c][0]]) parents.push_back(chain_of[parent]);
      std::sort(parents.begin(), parents.end());
      parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
      for (int parent : parents) children_[parent].push_back(static_cast<int>(c));
      num_parents_[c] = static_cast<int>(parents.size());
      if (parents.empty()) roots_[lane_[c]].push_back(static_cast<int>(c));
    }
    for (ReadyQueue& queue : queues_) queue.Init(chains_.size());
  }

  // Makes each operator of the lane wait for the one before it.
  static void ChainLane(Lane lane, const std::vector<int>& lane_of, OperatorGraph* graph) {
    int previous = -1;
    for (int i = 0; i < static_cast<int>(lane_of.size()); ++i) {
      if (lane_of[i] != lane) continue;
      auto& parents = graph->parents[i];
      if (previous >= 0 && std::find(parents.begin(), parents.end(), previous) == parents.end()) {
        parents.push_back(previous);
        graph->children[previous].push_back(i);
      }
      previous = i;
    }
  }

  void StartThread(Lane lane) {
    threads_.emplace_back([this, lane] {
      uint64_t seen = 0;
      while (true) {
        start_.Await([&] { return run_.load() != seen || stopping_.load(); });
        if (stopping_.load()) return;
        seen = run_.load();
        Work(lane);
        if (active_.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.Notify();
      }
    });
  }

  void StopThreads() {
    stopping_.store(true);
    if (IsForked()) {
      // The threads are the parent's. Their handles can be neither joined nor destroyed here.
      new std::vector<std::thread>(std::move(threads_));
      return;
    }
    start_.Notify();
    for (std::thread& thread : threads_) thread.join();
  }

  void Work(Lane lane) {
    while (true) {
      int chain = queues_[lane].Pop(done_);
      if (chain < 0) return;
      while (chain >= 0) chain = RunChain(chain);
    }
  }

  // Runs a chain and counts down its children. Returns a ready child of the same lane to go on
  // with, or -1.
  int RunChain(int c) {
    RunOperators(c);
    int next = -1;
    for (int child : children_[c]) {
      if (pending_[child].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      if (next < 0 && lane_[child] == lane_[c]) {
        next = child;
      } else {
        queues_[lane_[child]].Push(child);
      }
    }
    if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      done_.store(true, std::memory_order_seq_cst);
      for (ReadyQueue& queue : queues_) queue.NotifyDone();
    }
    return next;
  }

  // After a failure the remaining operators are skipped.
  void RunOperators(int c) {
    for (int op : chains_[c]) {
      if (!ok_.load(std::memory_order_relaxed)) return;
      try {
        if (RunOperator(op)) continue;
        LOG(ERROR) << "an operator reported failure (" << DescribeOperator(op) << ")";
      } catch (...) {
        std::lock_guard<std::mutex> lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
      }
      ok_.store(false, std::memory_order_relaxed);
    }
  }

  std::vector<std::vector<int>> chains_, children_;
  std::vector<Lane> lane_;
  std::vector<int> num_parents_;
  std::vector<int> roots_[2];
  bool has_communication_ = false;

  // State of a run.
  std::vector<std::atomic<int>> pending_;  // parents of a chain that are not done
  std::atomic<int> remaining_{0};          // chains not done
  std::atomic<bool> done_{true};
  std::atomic<bool> ok_{true};
  ReadyQueue queues_[2];
  std::mutex error_mutex_;
  std::exception_ptr error_;

  const pid_t process_ = getpid();
  std::vector<std::thread> threads_;
  std::atomic<uint64_t> run_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<int> active_{0};  // threads that have not finished the current run
  EventCount start_, finished_;
};

REGISTER_NET(dag, DagNet);
// Caffe2's other executors that run independent branches in parallel.
REGISTER_NET(async_dag, DagNet);
REGISTER_NET(async_scheduling, DagNet);
REGISTER_NET(async_polling, DagNet);
REGISTER_NET(async_simple, DagNet);
REGISTER_NET(prof_dag, DagNet);
REGISTER_NET(parallel, DagNet);

}  // namespace
}  // namespace caffe2
