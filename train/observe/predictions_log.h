// The predictions of the last test, for people and programs: predictions.json.
#pragma once

#include <string>

#include "train/observe/run_log_file.h"
#include "train/options.h"
#include "train/report.h"

namespace caffe2 {

// After each test whose report has predictions, replaces <directory>/predictions.json:
//   {"epoch": 3, "images": 10000, "num_labels": 10,
//    "database": "mnist_test_lmdb", "db_type": "lmdb", "class_names": ["zero", ...],
//    "counts": [[label, predicted, images], ...],
//    "worst": [{"record": 17, "key": "00017", "label": 4, "predicted": 9, "confidence": 0.93,
//               "label_probability": 0.01}, ...]}
// "counts" leaves out pairs without images; "worst" begins with the worst image. If the file cannot
// be written, logs one warning.
class PredictionsLog : public TrainListener {
 public:
  PredictionsLog(const std::string& directory, const TrainOptions& options)
      : path_(directory + "/predictions.json"), options_(options) {}

  void OnTest(const TestReport& report) override;

 private:
  const std::string path_;
  const TrainOptions options_;
  bool failed_ = false;
};

}  // namespace caffe2
