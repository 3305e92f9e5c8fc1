// Several listeners as one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/report.h"

namespace caffe2 {

// Passes each event to all listeners, in the order in which they were added.
class Listeners : public TrainListener {
 public:
  void Add(std::unique_ptr<TrainListener> listener) { list_.push_back(std::move(listener)); }
  void OnJoin(const RunIdentity& identity) override {
    for (auto& each : list_) each->OnJoin(identity);
  }
  void OnStart(const StartReport& report) override {
    for (auto& each : list_) each->OnStart(report);
  }
  void OnTakeOver(const StartReport& report) override {
    for (auto& each : list_) each->OnTakeOver(report);
  }
  void OnState(const std::string& state) override {
    for (auto& each : list_) each->OnState(state);
  }
  void OnEpochStart(int epoch, int num_epochs) override {
    for (auto& each : list_) each->OnEpochStart(epoch, num_epochs);
  }
  void OnIteration(const IterationReport& report) override {
    for (auto& each : list_) each->OnIteration(report);
  }
  void OnProgress(const IterationReport& report) override {
    for (auto& each : list_) each->OnProgress(report);
  }
  void OnTest(const TestReport& report) override {
    for (auto& each : list_) each->OnTest(report);
  }
  void OnEpochEnd(const EpochReport& report) override {
    for (auto& each : list_) each->OnEpochEnd(report);
  }
  void OnModelSaved(const std::string& path) override {
    for (auto& each : list_) each->OnModelSaved(path);
  }

 private:
  std::vector<std::unique_ptr<TrainListener>> list_;
};

}  // namespace caffe2
