#include "distributed/joined_runs.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "caffe2/core/fork_safe_mutex.h"
#include "distributed/core_share.h"
#include "distributed/run_progress.h"

namespace caffe2 {

namespace {

// One place in one run. JoinRun holds the mutex while it joins, which may take minutes, so other
// threads must not wait for it. RunsOfProcess::mutex guards the other members.
struct Place {
  std::mutex mutex;
  std::weak_ptr<RunMembership> run;
  pid_t pid = 0;  // the process that joined; a forked child has neither its threads nor its place

  std::shared_ptr<RunMembership> Find() const { return pid == getpid() ? run.lock() : nullptr; }
};

std::atomic<bool (*)()> stop_request{nullptr};

// Never destroyed: threads may end runs while the process exits.
struct RunsOfProcess {
  ForkSafeMutex mutex;  // guards places, not kept_runs and kept_worlds
  std::map<std::string, std::shared_ptr<Place>> places;
  std::vector<std::shared_ptr<RunMembership>> kept_runs;
  std::vector<std::shared_ptr<Communicator>> kept_worlds;
};

RunsOfProcess& Runs() {
  static auto* runs = new RunsOfProcess;
  return *runs;
}

void EndWithLastHolder(RunMembership* run) {
  if (std::uncaught_exceptions() > 0) {
    run->ReportFailure("an exception ended the use of the run", false);
  } else {
    run->Leave();
  }
  delete run;
}

void EndRunsAtExit(int status, void* /*unused*/) {
  if (status == 0) {
    LeaveRuns();
  } else {
    FailRuns(MakeString("the process ended with exit status ", status));
  }
  Runs().kept_worlds.clear();
  Runs().kept_runs.clear();
}

std::shared_ptr<Place> FindPlace(const std::string& store, const RunOptions& options) {
  const std::lock_guard<ForkSafeMutex> lock(Runs().mutex);
  auto& place = Runs().places[MakeString(store, " ", options.run_id, " shard ", options.shard_id)];
  if (place == nullptr) place = std::make_shared<Place>();
  return place;
}

}  // namespace

std::shared_ptr<RunMembership> JoinRun(const std::string& store, const StoreFactory& stores,
                                       const RunOptions& options) {
  const std::shared_ptr<Place> place = FindPlace(store, options);
  const std::lock_guard<std::mutex> lock(place->mutex);
  static const bool prepared = [] {
    WatchNetsForProgress();
    return on_exit(&EndRunsAtExit, nullptr) == 0;
  }();
  CAFFE_ENFORCE(prepared, "cannot register a handler for the end of this process");
  if (auto run = place->Find()) {
    CAFFE_ENFORCE(run->options().num_shards == options.num_shards,
                  "this process has already joined run ", options.run_id, " as shard ",
                  options.shard_id, " of ", run->options().num_shards, " shards, not of ",
                  options.num_shards);
    return run;
  }
  const pid_t pid = getpid();
  std::shared_ptr<RunMembership> run(RunMembership::Join(stores, options).release(),
                                     [pid](RunMembership* last) {
                                       if (pid == getpid()) EndWithLastHolder(last);
                                     });
  run->OnPeerLost([](const std::string& line) { AbortCommunicators(line); });
  run->OnStopWhileBlocked(&StopIsRequested, [](const std::string& why) {
    AbortCommunicators("interrupted while it waited for " + why);
  });
  UseCoreShare(*run);
  {
    const std::lock_guard<ForkSafeMutex> runs_lock(Runs().mutex);
    place->run = run;
    place->pid = pid;
  }
  PublishProgress();
  return run;
}

std::vector<std::shared_ptr<RunMembership>> JoinedRuns() {
  std::vector<std::shared_ptr<RunMembership>> runs;
  const std::lock_guard<ForkSafeMutex> lock(Runs().mutex);
  for (const auto& [name, place] : Runs().places) {
    if (auto run = place->Find()) runs.push_back(std::move(run));
  }
  return runs;
}

void LeaveRuns() {
  for (const auto& run : JoinedRuns()) run->Leave();
}

void FailRuns(const std::string& cause) {
  for (const auto& run : JoinedRuns()) run->ReportFailure(cause, false);
}

void SetStopRequest(bool (*asked)()) { stop_request = asked; }

bool StopIsRequested() {
  bool (*asked)() = stop_request;
  return asked != nullptr && asked();
}

void KeepRunsUntilExit(std::vector<std::shared_ptr<Communicator>> worlds) {
  auto runs = JoinedRuns();
  if (runs.empty()) return;
  Runs().kept_runs = std::move(runs);
  Runs().kept_worlds = std::move(worlds);
}

}  // namespace caffe2
