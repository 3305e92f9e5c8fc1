// Log lines in the styles of other systems.
#pragma once

#include <memory>
#include <string>

#include "train/report.h"

namespace caffe2 {

// Log lines of PyTorch's imagenet example, as of 2018: "Epoch: [0][10/40]\tTime 0.312 (0.402)\t
// Data 0.001 (0.102)\tLoss 2.1021 (2.2043)\tPrec@1 25.000 (20.125)\tPrec@5 80.000 (75.250)", in
// brackets means over the epoch, and " * Prec@1 61.250 Prec@5 94.100" of the test. After it, as in
// PyTorch's tutorial of distributed training, "Epoch Summary: ", "\tEpoch Accuracy: 61.250" and
// "\tBest Accuracy: 61.250".
class PytorchLog : public TrainListener {
 public:
  void OnEpochStart(int epoch, int num_epochs) override;
  void OnIteration(const IterationReport& report) override;
  void OnTest(const TestReport& report) override;
  void OnModelSaved(const std::string& path) override;

 private:
  struct Meters {
    double seconds = 0, data_seconds = 0, loss = 0, top1 = 0, top5 = 0;
  };
  Meters sums_;  // over the iterations of this epoch
  int64_t iterations_ = 0;
};

// The log with the style `style`: caffe2, mxnet or pytorch. Throws UsageError for another name.
std::unique_ptr<TrainListener> MakeLog(const std::string& style);

}  // namespace caffe2
