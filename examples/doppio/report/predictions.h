// The predictions of the last test, from predictions.json of --log_dir
// (train/observe/predictions_log.h), and the part of a page about them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caffe2::report {

struct WorstImage {
  int64_t record = 0, label = 0, predicted = 0;
  std::string key;
  double confidence = 0, label_probability = 0;
};

struct Predictions {
  int64_t epoch = 0, images = 0;
  std::string database, db_type;
  std::vector<std::string> class_names;                   // by label; empty if they have none
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;  // (label, predicted) -> images
  std::vector<WorstImage> worst;
};

// nullopt without such a file in the directory. Throws IoError for a damaged one.
std::optional<Predictions> ReadPredictions(const std::string& directory);

// One line of the table by class.
struct ClassResult {
  int64_t label = 0;
  int64_t images = 0, right = 0;  // with this label; the correctly predicted ones of these
  int64_t predicted = 0;          // images with this prediction, right or wrong
  // right / predicted and right / images. Empty if the divisor is 0.
  std::optional<double> precision, recall;
};
// By label: every label that an image had or that was predicted for one.
std::vector<ClassResult> ClassResults(const Predictions& predictions);

// The table by class, the confusion matrix (for many classes only the most frequent mistakes), and
// the worst images. Pictures come from the database; if it is missing or has changed, a note says
// so.
std::string PredictionsHtml(const Predictions& predictions);

}  // namespace caffe2::report
