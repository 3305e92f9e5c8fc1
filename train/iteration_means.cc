#include "train/iteration_means.h"

#include <algorithm>

namespace caffe2 {

void IterationMeans::Add(const IterationStatus& status) {
  const auto n = static_cast<double>(status.iterations);
  iterations_ += status.iterations;
  loss_ += n * status.loss;
  accuracy_ += n * status.accuracy;
  accuracy_top5_ += n * status.accuracy_top5;
  speeds_.Add(status.shards);
}

IterationReport IterationMeans::Peek(int64_t batch_size, int num_shards, double waited) const {
  const auto n = static_cast<double>(iterations_);
  const double seconds = std::max(seconds_, 1e-9);
  IterationReport report;
  report.iterations = iterations_;
  report.seconds = seconds_ / n;
  report.loss = loss_ / n;
  report.accuracy = accuracy_ / n;
  report.accuracy_top5 = accuracy_top5_ / n;
  report.images_per_second = n * static_cast<double>(batch_size) / seconds;
  // All shards run at the same speed.
  report.job_images_per_second = report.images_per_second * num_shards;
  report.input_wait = (waited - waited_before_) / seconds;
  return report;
}

IterationReport IterationMeans::Take(int64_t batch_size, int num_shards, double waited) {
  IterationReport report = Peek(batch_size, num_shards, waited);
  report.shards = speeds_.Take(batch_size);
  iterations_ = 0;
  loss_ = accuracy_ = accuracy_top5_ = seconds_ = 0;
  waited_before_ = waited;
  return report;
}

}  // namespace caffe2
