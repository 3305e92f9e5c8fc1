// The logs of a run: lines in Caffe2's and MXNet's formats, the per-epoch CSV.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "train/report.h"

namespace caffe2 {

// Log lines of Caffe2's resnet50_trainer ("Finished iteration 3/60 of epoch 0 (21.50 images/sec)",
// "Training loss: 2.1, accuracy: 0.4"), and a line with the total speed of all shards and the
// fraction of time that this shard waited for images.
class Caffe2Log : public TrainListener {
 public:
  void OnEpochStart(int epoch, int num_epochs) override;
  void OnIteration(const IterationReport& report) override;
  void OnTest(const TestReport& report) override;
  void OnEpochEnd(const EpochReport& report) override;
  void OnModelSaved(const std::string& path) override;
};

// Log lines of MXNet's train_mnist: "Epoch[0] Batch [100]  Speed: 812.3 samples/sec
// Train-accuracy=0.98", "Epoch[0] Validation-accuracy=0.988".
class MxnetLog : public TrainListener {
 public:
  void OnIteration(const IterationReport& report) override;
  void OnTest(const TestReport& report) override;
  void OnEpochEnd(const EpochReport& report) override;
  void OnModelSaved(const std::string& path) override;
};

// Writes the file of Caffe2's ModelTrainerLog: a comment line, a header, and a row for each epoch.
class CsvLog : public TrainListener {
 public:
  // Throws IoError if the file cannot be created. `description` is the text of the comment line.
  CsvLog(const std::string& path, const std::string& description);
  // For a process that takes over from one that was given up: goes on with its file, or makes one
  // if there is none at `path`. Logs where it goes on. The earlier process, if it wakes, writes to
  // a file that has no name any more. Throws the same.
  static std::unique_ptr<CsvLog> GoOn(const std::string& path, const std::string& description);
  // Throws IoError if the row cannot be written.
  void OnEpochEnd(const EpochReport& report) override;

 private:
  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  explicit CsvLog(const std::string& path);  // at the end of the file
  void Write(const std::string& line);

  std::string path_;
  std::unique_ptr<FILE, Close> file_;
  double cumulative_seconds_ = 0;
  int64_t cumulative_images_ = 0;
  int last_epoch_ = -1;  // that an earlier process has written
};

// Caffe2's name for the file: "<experiment>_<year><month><day>_<hour><minute><second>.log".
std::string CsvFileName(const std::string& experiment);

}  // namespace caffe2
