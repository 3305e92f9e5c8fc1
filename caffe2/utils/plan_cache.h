// Choices that were measured once, kept in a folder for the next process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "caffe2/core/device.h"

namespace caffe2 {

// Texts by key, one file each, whose name is a hash of the key and whose first line is the key.
// What cannot be read or written is logged and then not there: a cache must not stop a run.
// Thread-safe; processes may share a folder, as files appear whole.
class PlanCache {
 public:
  // No folder, no cache.
  explicit PlanCache(std::string folder) : folder_(std::move(folder)) {}
  // Of the folder that the environment variable CAFFE2_CUDA_PLAN_CACHE names now.
  static PlanCache Default();

  bool is_kept() const { return !folder_.empty(); }
  std::optional<std::string> Find(const std::string& key) const;
  void Add(const std::string& key, const std::string& text) const;

 private:
  std::string PathOf(const std::string& key) const;

  std::string folder_;
};

// The candidate, of n, whose median of several measured times is least: measure(i) gives one time
// in any unit, and throws Error if candidate i does not work; such candidates are logged and passed
// over. All are measured in turns, so that a clock that changes meets all of them; after two turns
// those that took many times as long as the best go out. Throws EnforceNotMet if none works. Memory
// that does not suffice says nothing about a candidate: where that passed one over, *lacked_memory
// is true, if it is not null, and OutOfMemoryError is thrown if none works.
int FastestOf(int n, const std::function<double(int)>& measure, bool* lacked_memory = nullptr);

// The first candidate, of n, for which attempt(i) does not throw Error; the others are logged.
// Throws and tells as FastestOf.
int FirstThatWorks(int n, const std::function<void(int)>& attempt, bool* lacked_memory = nullptr);

// What measured choices on a device hold for besides their keys: its name and the version of its
// libraries, in one line. "host" for devices whose backend registers nothing.
std::string PlanScopeOf(const Device& device);
// Called during static initialisation of the backend.
void RegisterPlanScope(DeviceType type, std::string (*scope)(int device));

}  // namespace caffe2
