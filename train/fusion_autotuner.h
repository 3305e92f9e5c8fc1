// Chooses fusions by timing both variants on the device that will run them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "caffe2/graph/training_pipeline.h"
#include "caffe2/utils/plan_cache.h"

namespace caffe2 {

// Gives the string of shard 0 to all shards.
using BroadcastFn = std::function<std::string(const std::string&)>;

struct FusionAutotunerOptions {
  PlanCache cache;  // where answers are kept; nothing is measured if it has no folder
  std::string executor = "simple";  // type of the nets that are measured
  // Blobs that the nets read and do not write: parameters, and input that is made elsewhere.
  std::map<std::string, TensorShape> shapes = {};
  // With several shards, shard 0 measures and all others take its answers by `broadcast`, which is
  // null for one shard.
  bool measures = true;
  BroadcastFn broadcast = nullptr;
};

// Compares the variants of FusionCandidates. Both, with the gradients of their results, run in
// turns on random values. The faster one by the median is kept in the cache, whose answers are
// taken without measuring. Candidates that differ only in the names of their blobs have the same
// answer.
class FusionAutotuner {
 public:
  explicit FusionAutotuner(FusionAutotunerOptions options) : options_(std::move(options)) {}

  // The answers for all candidates of PrepareForward(passes, keep, net). All shards must call it
  // with equal nets; throws EnforceNotMet if this shard has a candidate that shard 0 has not.
  FusionChoices Choose(const NetDef& net, const TrainingPasses& passes,
                       const std::set<std::string>& keep = {});
  // The answer for one candidate, without other shards. Nothing if it cannot be measured, because
  // the shape of an input is not known or a variant does not run; the log says why.
  std::optional<bool> Compare(const FusionCandidate& candidate);
  // How many candidates were measured, not taken from the cache or from shard 0.
  int measured() const { return measured_; }

 private:
  using Shapes = std::map<std::string, TensorShape>;
  std::optional<bool> Answer(const FusionCandidate& candidate, const std::string& text,
                             const Shapes& shapes);
  std::optional<bool> Measure(const FusionCandidate& candidate, const std::string& key,
                              const Shapes& shapes);

  const FusionAutotunerOptions options_;
  std::map<std::string, std::optional<bool>> answers_;  // by what the candidate computes
  int measured_ = 0;
};

}  // namespace caffe2
