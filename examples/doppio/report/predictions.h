// The predictions of the last test, as predictions.json of --log_dir holds them
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
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;  // (label, predicted) -> images
  std::vector<WorstImage> worst;
};

// nullopt without such a file in the directory. Throws IoError for a damaged one.
std::optional<Predictions> ReadPredictions(const std::string& directory);

// One line of the table by class.
struct ClassResult {
  int64_t label = 0;
  int64_t images = 0, right = 0;  // with this label; those that were taken for it
  int64_t predicted = 0;          // images that were taken for it, right or wrong
  // Of the images that were taken for it, and of those that have it, the part that is right. Empty
  // if there are none.
  std::optional<double> precision, recall;
};
// By label: every label that an image had or was taken for.
std::vector<ClassResult> ClassResults(const Predictions& predictions);

// The table by class, the confusion matrix (or of many classes the most frequent mistakes), and the
// worst images. Pictures come from the database; if it is not there or has changed, a note says so.
std::string PredictionsHtml(const Predictions& predictions);

}  // namespace caffe2::report
