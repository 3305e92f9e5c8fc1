#include "train/time_estimate.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include "train/trainer.h"

namespace caffe2 {
namespace {

constexpr int64_t kMaxIterations = 20;

// Counts iterations and asks the run to end when it has seen enough.
class Stopwatch : public TrainListener {
 public:
  explicit Stopwatch(double max_seconds) : max_seconds_(max_seconds) {}

  void OnIteration(const IterationReport& report) override {
    ++iterations_;
    if (iterations_ > 1) seconds_ += report.seconds;
  }
  bool HasEnough() const {
    return iterations_ > kMaxIterations || (iterations_ > 1 && seconds_ >= max_seconds_);
  }
  int64_t measured() const { return std::max<int64_t>(iterations_ - 1, 0); }
  double seconds() const { return seconds_; }

 private:
  const double max_seconds_;
  int64_t iterations_ = 0;
  double seconds_ = 0;  // of all but the first
};

// The same iterations, with nothing before, between or after them.
TrainOptions OfIterations(TrainOptions options) {
  const int num_threads = options.shards.num_threads;
  options.shards = ShardOptions();
  options.shards.num_threads = num_threads;
  options.data.test_data.clear();
  options.data.check_coverage = false;
  options.output = OutputOptions();
  options.schedule.sync_every = 0;
  options.schedule.patience = 0;
  // Two iterations at least, also of runs with one.
  options.schedule.num_epochs = std::max(options.schedule.num_epochs, 2);
  options.schedule.max_iterations = 0;
  return options;
}

}  // namespace

TimeEstimate EstimateTime(const TrainOptions& options, double max_seconds,
                          const std::function<int()>& stop) {
  const TrainOptions whole = WithEpochSize(options);
  auto watch = std::make_shared<Stopwatch>(max_seconds);
  Trainer trainer(OfIterations(whole), watch, [&] {
    const int signal = stop ? stop() : 0;
    return signal == 0 && watch->HasEnough() ? SIGTERM : signal;
  });
  trainer.Run();
  TimeEstimate estimate;
  estimate.measured = watch->measured();
  estimate.iteration_seconds =
      watch->seconds() / static_cast<double>(std::max<int64_t>(estimate.measured, 1));
  estimate.iterations = whole.schedule.num_epochs * whole.EpochIterations();
  const int64_t max = whole.schedule.max_iterations;
  if (max > 0) estimate.iterations = std::min(estimate.iterations, max);
  return estimate;
}

}  // namespace caffe2
