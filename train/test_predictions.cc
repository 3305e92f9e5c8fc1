#include "train/test_predictions.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <tuple>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

// A probability that is not a number is the worst of all, and never the largest.
float AsNumber(float probability) { return probability >= 0 ? probability : 0.f; }

bool IsWorse(const WrongImage& a, const WrongImage& b) {
  return std::tie(a.label_probability, a.record) < std::tie(b.label_probability, b.record);
}

}  // namespace

void TestPredictions::Add(int64_t record, int32_t label, const float* probabilities,
                          int64_t labels) {
  int64_t best = 0;
  for (int64_t j = 1; j < labels; ++j) {
    if (AsNumber(probabilities[j]) > AsNumber(probabilities[best])) best = j;
  }
  const auto predicted = static_cast<int32_t>(best);
  ++counts_[{label, predicted}];
  if (predicted == label) return;
  Keep({.record = record,
        .key = "",
        .label = label,
        .predicted = predicted,
        .confidence = AsNumber(probabilities[best]),
        .label_probability = AsNumber(probabilities[label])});
}

void TestPredictions::Keep(const WrongImage& image) {
  if (worst_.size() == max_worst_ && (worst_.empty() || !IsWorse(image, worst_.back()))) return;
  worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), image, IsWorse), image);
  if (worst_.size() > max_worst_) worst_.pop_back();
}

std::string TestPredictions::Encode() const {
  std::ostringstream text;
  text << std::setprecision(9) << counts_.size() << "\n";
  for (const auto& [labels, count] : counts_) {
    text << labels.first << " " << labels.second << " " << count << "\n";
  }
  for (const WrongImage& image : worst_) {
    text << image.record << " " << image.label << " " << image.predicted << " " << image.confidence
         << " " << image.label_probability << "\n";
  }
  return text.str();
}

void TestPredictions::Merge(const std::string& encoded) {
  std::istringstream text(encoded);
  size_t num_counts = 0;
  text >> num_counts;
  for (size_t i = 0; i < num_counts; ++i) {
    int32_t label = 0, predicted = 0;
    int64_t count = 0;
    text >> label >> predicted >> count;
    counts_[{label, predicted}] += count;
  }
  CAFFE_ENFORCE(!text.fail(), "the predictions that a shard sent are cut short");
  WrongImage image;
  while (text >> image.record >> image.label >> image.predicted >> image.confidence >>
         image.label_probability) {
    Keep(image);
  }
  CAFFE_ENFORCE(text.eof(), "the predictions that a shard sent are cut short");
}

}  // namespace caffe2
