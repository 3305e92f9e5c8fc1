// Several listeners as one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/utils/waiting_time.h"
#include "train/report.h"

namespace caffe2 {

// Passes each event to all listeners, in the order in which they were added. What they write counts
// as WaitFor::kLog.
class Listeners : public TrainListener {
 public:
  void Add(std::unique_ptr<TrainListener> listener) { list_.push_back(std::move(listener)); }
  void OnJoin(const RunIdentity& identity) override {
    ForEach([&](TrainListener* each) { each->OnJoin(identity); });
  }
  void OnStart(const StartReport& report) override {
    ForEach([&](TrainListener* each) { each->OnStart(report); });
  }
  void OnTakeOver(const StartReport& report) override {
    ForEach([&](TrainListener* each) { each->OnTakeOver(report); });
  }
  void OnState(const std::string& state) override {
    ForEach([&](TrainListener* each) { each->OnState(state); });
  }
  void OnEpochStart(int epoch, int num_epochs) override {
    ForEach([&](TrainListener* each) { each->OnEpochStart(epoch, num_epochs); });
  }
  void OnIteration(const IterationReport& report) override {
    ForEach([&](TrainListener* each) { each->OnIteration(report); });
  }
  void OnProgress(const IterationReport& report) override {
    ForEach([&](TrainListener* each) { each->OnProgress(report); });
  }
  void OnTest(const TestReport& report) override {
    ForEach([&](TrainListener* each) { each->OnTest(report); });
  }
  void OnEpochEnd(const EpochReport& report) override {
    ForEach([&](TrainListener* each) { each->OnEpochEnd(report); });
  }
  void OnModelSaved(const std::string& path) override {
    ForEach([&](TrainListener* each) { each->OnModelSaved(path); });
  }

 private:
  template <typename Call>
  void ForEach(const Call& call) {
    const TimedWait wait(WaitFor::kLog);
    for (auto& each : list_) call(each.get());
  }

  std::vector<std::unique_ptr<TrainListener>> list_;
};

}  // namespace caffe2
