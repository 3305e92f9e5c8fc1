// Choices between plans that were measured once, kept in a folder for later processes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "caffe2/core/device.h"

namespace caffe2 {

// Texts by key. Each has a file; its name is a hash of the key and its first line is the key. A
// cache must not stop a run: a file that cannot be read counts as missing, and one that cannot be
// written is logged. Thread-safe. Processes may share a folder, because files are renamed into
// place.
class PlanCache {
 public:
  // An empty folder name: nothing is kept or found.
  explicit PlanCache(std::string folder) : folder_(std::move(folder)) {}
  // The cache in the folder that the environment variable CAFFE2_CUDA_PLAN_CACHE names now.
  static PlanCache Default();

  bool is_kept() const { return !folder_.empty(); }
  std::optional<std::string> Find(const std::string& key) const;
  void Add(const std::string& key, const std::string& text) const;  // the key must be one line

 private:
  std::string PathOf(const std::string& key) const;

  std::string folder_;
};

// The candidate in [0, n) with the smallest median of several times. measure(i) returns one time in
// any unit and throws Error if candidate i does not work; such candidates are logged and skipped.
// Candidates are measured in turns, so that a change of the clock affects all. After two turns
// candidates that are many times slower than the best are dropped. If none works, throws
// OutOfMemoryError if one failed for lack of memory, and EnforceNotMet otherwise. *lacked_memory
// (unless null) becomes true if a candidate was skipped for lack of memory: it may work later.
int FastestOf(int n, const std::function<double(int)>& measure, bool* lacked_memory = nullptr);

// The first candidate in [0, n) for which attempt(i) does not throw Error; failures are logged.
// Throws and sets *lacked_memory like FastestOf.
int FirstThatWorks(int n, const std::function<void(int)>& attempt, bool* lacked_memory = nullptr);

}  // namespace caffe2
