// Which exported models a run keeps, and how long it goes on without a better one.
#pragma once

#include <deque>
#include <string>

namespace caffe2 {

// Removes the oldest models of a run. Knows only the models that the run wrote: it removes no
// others.
class KeptModels {
 public:
  // Keeps the last `keep` >= 0 models; 0: all.
  explicit KeptModels(int keep) : keep_(keep) {}

  // A model was written at `path`.
  void Add(const std::string& path);
  // The models that are kept, the oldest first.
  const std::deque<std::string>& paths() const { return paths_; }

 private:
  const int keep_;
  std::deque<std::string> paths_;
};

// The best test of a run so far.
struct BestTest {
  double accuracy = -1;  // -1: there was none
  int epoch = -1;        // counted from 0

  // Notes the accuracy of the test after `epoch`. Returns true if it is the best one. An equal
  // accuracy is no better.
  bool Update(double accuracy, int epoch);
  // True if, after `epoch`, the best test is at least `patience` epochs old. Always false if
  // `patience` is 0 or there was no test.
  bool IsOverdue(int epoch, int patience) const;
};

}  // namespace caffe2
