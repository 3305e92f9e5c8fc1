#include "train/kept_models.h"

#include <algorithm>
#include <cstdio>

namespace caffe2 {

void KeptModels::Add(const std::string& path) {
  paths_.erase(std::remove(paths_.begin(), paths_.end(), path), paths_.end());
  paths_.push_back(path);
  if (keep_ == 0) return;
  while (paths_.size() > static_cast<size_t>(keep_)) {
    std::remove(paths_.front().c_str());
    paths_.pop_front();
  }
}

bool BestTest::Update(double tested, int tested_epoch) {
  if (!(tested > accuracy)) return false;
  accuracy = tested;
  epoch = tested_epoch;
  return true;
}

bool BestTest::IsOverdue(int tested_epoch, int patience) const {
  return patience > 0 && epoch >= 0 && tested_epoch - epoch >= patience;
}

}  // namespace caffe2
