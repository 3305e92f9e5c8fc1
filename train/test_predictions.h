// The predictions of a test: the confusion matrix, and the worst images.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/tensor.h"

namespace caffe2 {

// A test image whose most probable label is wrong.
struct WrongImage {
  int64_t record = 0;  // index in the order of the database
  std::string key;     // of the record
  int32_t label = 0, predicted = 0;
  float confidence = 0;         // the probability of `predicted`
  float label_probability = 0;  // of `label`
};

// Not thread-safe.
class TestPredictions {
 public:
  // Keeps at most `max_worst` images.
  explicit TestPredictions(int max_worst) : max_worst_(static_cast<size_t>(max_worst)) {}

  // Adds an image with its `labels` probabilities, one for each label. Among equal probabilities
  // the first label is predicted, as in AddRows(). NaN counts as 0.
  void Add(int64_t record, int32_t label, const float* probabilities, int64_t labels);

  // All predictions as text, without keys.
  std::string Encode() const;
  // Adds the predictions of a text from Encode(). Throws EnforceNotMet if it is cut short.
  void Merge(const std::string& encoded);

  // (label, predicted) -> images.
  const std::map<std::pair<int32_t, int32_t>, int64_t>& counts() const { return counts_; }
  // The wrong images whose own label had the smallest probability, smallest first.
  const std::vector<WrongImage>& worst() const { return worst_; }
  std::vector<WrongImage>* mutable_worst() { return &worst_; }

 private:
  void Keep(const WrongImage& image);

  const size_t max_worst_;
  std::map<std::pair<int32_t, int32_t>, int64_t> counts_;
  std::vector<WrongImage> worst_;
};

}  // namespace caffe2
