// The test of a model in training: every image of the test set exactly once.
#pragma once

#include <cstdint>

#include "train/model_view.h"
#include "train/options.h"
#include "train/report.h"

namespace caffe2 {

// How often the label was among the best, summed over images.
struct TestSums {
  int64_t images = 0;
  double loss = 0;  // cross entropy
  int64_t top1 = 0;
  int64_t top5 = 0;
};

// Adds the first `rows` rows of softmax {N, labels} with their int32 labels {N}. A label is among
// the top k if fewer than k scores are larger, or equal with a smaller index. Throws EnforceNotMet
// for a label out of range.
void AddRows(const Tensor& softmax, const Tensor& label, int64_t rows, TestSums* sums);

// Tests shard `shard_id` of the records of the test database: shard_id, shard_id + num_shards, ...
class Evaluator {
 public:
  // Opens the database and makes the net in the view's workspace. All must outlive it.
  Evaluator(const TrainOptions& options, RecordKind kind, ModelView* view, ShardRun* run);

  // Refreshes the view and tests. All shards get the same report (but for the time).
  TestReport Run();

 private:
  // Records of this shard among the first `limit` of the database.
  int64_t RecordsOfShard() const;

  const TrainOptions& options_;
  ModelView* view_;
  ShardRun* run_;
  InferenceNets nets_;
  int64_t records_ = 0;  // to test, all shards
};

}  // namespace caffe2
