// Tests a model in training on every image of the test set exactly once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "db/db_reader.h"
#include "train/model_view.h"
#include "train/options.h"
#include "train/report.h"
#include "train/test_predictions.h"

namespace caffe2 {

// Sums over tested images.
struct TestSums {
  int64_t images = 0;
  double loss = 0;   // cross entropy
  int64_t top1 = 0;  // images whose label is the most probable one
  int64_t top5 = 0;  // images whose label is among the five most probable
};

// Adds the first `rows` rows of the host tensors softmax (float {N, labels}) and label (int32 {N}).
// A label is among the top k if fewer than k others have a larger score, or the same score and a
// smaller index. A label with a NaN score is never among them. Throws EnforceNotMet for a label out
// of range, and if softmax has fewer rows.
void AddRows(const Tensor& softmax, const Tensor& label, int64_t rows, TestSums* sums);

// Each shard tests its records of the test database: shard_id, shard_id + num_shards, ...
class Evaluator {
 public:
  // Opens the database and makes the net in the view's workspace. All arguments must outlive it.
  // All shards must call it together.
  Evaluator(const TrainOptions& options, RecordKind kind, ModelView* view, ShardRun* run);

  // Refreshes the view and tests; all shards must call it. The reports are the same on all shards,
  // except for `seconds` and `predictions`.
  TestReport Run();

 private:
  // The number of records that this shard tests.
  int64_t RecordsOfShard() const;
  db::DBReader* Reader() const;
  // `first` is the position of the first row in the shard's stream.
  void NotePredictions(const Tensor& softmax, const Tensor& label, int64_t rows, int64_t first,
                       TestPredictions* predictions) const;
  // Merges the predictions of all shards; null on other shards than the one that writes files.
  std::shared_ptr<const TestPredictions> GatherPredictions(const TestPredictions& own);

  const TrainOptions& options_;
  ModelView* view_;
  ShardRun* run_;
  InferenceNets nets_;
  int64_t records_ = 0;              // number of records to test, over all shards
  std::optional<int> worst_images_;  // the value of shard 0
};

}  // namespace caffe2
