#include "caffe2/utils/plan_cache.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/logging.h"
#include "caffe2/utils/owned_fd.h"
#include "caffe2/utils/temporary_file.h"

namespace caffe2 {
namespace {

constexpr int kRounds = 5;  // the first is for warm-up
constexpr int kPermissions = 0666;
constexpr double kManyTimes = 4.0;  // slower than the best by this factor: not worth more rounds

// FNV-1a, the same in every build.
uint64_t HashOf(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

PlanCache PlanCache::Default() {
  const char* folder = std::getenv("CAFFE2_CUDA_PLAN_CACHE");
  return PlanCache(folder != nullptr ? folder : "");
}

std::string PlanCache::PathOf(const std::string& key) const {
  char name[24];
  std::snprintf(name, sizeof(name), "/%016llx.plan", static_cast<unsigned long long>(HashOf(key)));
  return folder_ + name;
}

std::optional<std::string> PlanCache::Find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(PathOf(key));
  std::string first;
  if (!std::getline(file, first) || first != key) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void PlanCache::Add(const std::string& key, const std::string& text) const {
  if (folder_.empty()) return;
  CAFFE_ENFORCE(key.find('\n') == std::string::npos, "a key must be one line: ", key);
  // Threads may add the same key: each has a name of its own.
  const std::string path = PathOf(key), temporary = TemporaryPath(path);
  std::ofstream file;
  if (OwnedFd(CreateNewFile(temporary, kPermissions)).get() >= 0) {
    file.open(temporary, std::ios::binary);
  }
  file << key << '\n' << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    LOG(WARNING) << "cannot keep a plan in " << path;
    std::remove(temporary.c_str());
  }
}

namespace {

// Why candidates were skipped.
class Failures {
 public:
  void Note(int candidate, const Error& error) {
    LOG(WARNING) << "candidate " << candidate << " is skipped: " << error.what();
    reason_ = error.what();
    if (dynamic_cast<const OutOfMemoryError*>(&error) != nullptr) lacked_memory_ = reason_;
  }
  bool lacked_memory() const { return !lacked_memory_.empty(); }
  // Throws the error for "no candidate works".
  [[noreturn]] void Throw() const {
    if (lacked_memory()) throw OutOfMemoryError(lacked_memory_);
    CAFFE_THROW("no candidate works: ", reason_);
  }

 private:
  std::string reason_ = "there is no candidate", lacked_memory_;
};

void Tell(const Failures& failures, bool* lacked_memory) {
  if (lacked_memory != nullptr) *lacked_memory = failures.lacked_memory();
}

}  // namespace

int FirstThatWorks(int n, const std::function<void(int)>& attempt, bool* lacked_memory) {
  Failures failures;
  for (int i = 0; i < n; ++i) {
    try {
      attempt(i);
      Tell(failures, lacked_memory);
      return i;
    } catch (const Error& error) {
      failures.Note(i, error);
    }
  }
  failures.Throw();
}

int FastestOf(int n, const std::function<double(int)>& measure, bool* lacked_memory) {
  std::vector<std::vector<double>> times(n);  // by round
  std::vector<bool> works(n, true);
  Failures failures;
  for (int round = 0; round < kRounds; ++round) {
    double min = std::numeric_limits<double>::infinity();
    for (int i = 0; i < n; ++i) {
      if (!works[i]) continue;
      try {
        times[i].push_back(measure(i));
        min = std::min(min, times[i].back());
      } catch (const Error& error) {
        failures.Note(i, error);
        works[i] = false;
      }
    }
    for (int i = 0; round == 1 && i < n; ++i) {
      works[i] = works[i] && std::min(times[i][0], times[i][1]) <= kManyTimes * min;
    }
  }
  int best = -1;
  double min = 0;
  for (int i = 0; i < n; ++i) {
    if (!works[i]) continue;
    std::sort(times[i].begin() + 1, times[i].end());
    const double median = times[i][1 + (times[i].size() - 1) / 2];
    if (best < 0 || median < min) {
      best = i;
      min = median;
    }
  }
  if (best < 0) failures.Throw();
  Tell(failures, lacked_memory);
  return best;
}

}  // namespace caffe2
