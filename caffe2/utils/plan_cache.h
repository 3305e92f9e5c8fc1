// Measures which of several plans is fastest, and keeps such choices in a folder for later
// processes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "caffe2/core/device.h"

namespace caffe2 {

// Texts by key. Each text has a file, whose name is a hash of the key and whose first line is the
// key. A cache must not stop a run: a file that cannot be read counts as missing, and a failure to
// write one is only logged. Thread-safe. Processes may share a folder, because files are renamed
// into place.
class PlanCache {
 public:
  // An empty folder name: nothing is kept or found.
  explicit PlanCache(std::string folder) : folder_(std::move(folder)) {}
  // The cache in the folder that the environment variable CAFFE2_CUDA_PLAN_CACHE names now.
  static PlanCache Default();

  bool is_kept() const { return !folder_.empty(); }
  std::optional<std::string> Find(const std::string& key) const;
  // Throws EnforceNotMet if the key has more than one line.
  void Add(const std::string& key, const std::string& text) const;

 private:
  std::string PathOf(const std::string& key) const;

  std::string folder_;
};

// Measures each candidate in [0, n) several times and returns the one with the smallest median
// time. measure(i) returns one time in any unit, and throws Error if candidate i does not work;
// such candidates are logged and skipped. Candidates are measured in turns, so that a change of the
// clock rate affects all of them alike. After two turns, candidates that are many times slower than
// the best are dropped. If no candidate works, throws OutOfMemoryError if one of them failed for
// lack of memory, and EnforceNotMet otherwise. *lacked_memory (unless null) tells whether a
// candidate was skipped for lack of memory: it may work later.
int FastestOf(int n, const std::function<double(int)>& measure, bool* lacked_memory = nullptr);

// The first candidate in [0, n) for which attempt(i) does not throw Error; failures are logged.
// Throws and sets *lacked_memory like FastestOf.
int FirstThatWorks(int n, const std::function<void(int)>& attempt, bool* lacked_memory = nullptr);

}  // namespace caffe2
