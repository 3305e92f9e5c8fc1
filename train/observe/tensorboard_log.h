// The curves, graph, pictures and histograms of a run for TensorBoard.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/observe/event_file.h"
#include "train/observe/input_samples.h"
#include "train/report.h"

namespace caffe2 {

// Writes an event file, which begins after the shards have joined. At the start: the graph of the
// training net. After the first iteration: up to eight images of its batch, as the network sees
// them. At each logged iteration: loss, accuracy, learning rate, speed and input wait. After each
// test: its results. Steps are iterations of the whole run.
class TensorBoardLog : public TrainListener {
 public:
  // Writes histograms of all parameters at the first logged iteration after every
  // `histograms_every` iterations; 0: never.
  TensorBoardLog(std::string directory, int64_t histograms_every)
      : directory_(std::move(directory)), histograms_every_(histograms_every) {}

  // Throws like EventFile.
  void OnJoin(const RunIdentity& identity) override;
  void OnStart(const StartReport& report) override;
  void OnIteration(const IterationReport& report) override;
  void OnTest(const TestReport& report) override;

 private:
  void WriteSamples();
  void WriteHistograms();

  const std::string directory_;
  std::optional<EventFile> file_;  // from OnJoin on
  const int64_t histograms_every_;
  StartReport run_;
  InputSamples samples_;
  int64_t step_ = 0;
  int64_t histograms_at_ = 0;  // the step of the last ones
};

}  // namespace caffe2
