#include "distributed/run_progress.h"

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/fork_safe_mutex.h"
#include "caffe2/core/net.h"
#include "caffe2/core/net_observer.h"
#include "caffe2/core/workspace.h"
#include "distributed/joined_runs.h"

namespace caffe2 {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRenewEvery{500};

struct Progress {
  ForkSafeMutex mutex;
  ShardStatus status{.state = "starting", .more = {}};
  bool has_counter = false;  // some net counts iterations
};
Progress& OfProcess() {
  static auto* progress = new Progress;
  return *progress;
}

// Changes the status by change(Progress*) and publishes it.
template <typename Change>
void Update(const Change& change) {
  {
    const std::lock_guard<ForkSafeMutex> lock(OfProcess().mutex);
    change(&OfProcess());
  }
  PublishProgress();
}

const Tensor* FindTensor(const NetBase* net, const std::string& name) {
  const Blob* blob = net->workspace()->GetBlob(name);
  if (blob == nullptr || !blob->IsType<Tensor>()) return nullptr;
  const auto& tensor = blob->Get<Tensor>();
  return tensor.numel() > 0 ? &tensor : nullptr;
}

class ProgressObserver final : public NetObserver {
 public:
  explicit ProgressObserver(const NetBase* net) : net_(net) {
    static const std::set<std::string> kReductions = {"Allreduce", "AllreduceBucket",
                                                      "AllgatherRows", "ReduceScatter"};
    const ArgumentHelper args(net->net_def());
    state_ = args.GetSingleArgument<std::string>("progress_state", "training");
    loss_blobs_ = args.GetRepeatedArgument<std::string>("progress_loss");
    loss_scales_ = args.GetRepeatedArgument<float>("progress_loss_scale");
    loss_scales_.resize(loss_blobs_.size(), 1.f);
    image_blobs_ = args.GetRepeatedArgument<std::string>("progress_images");
    is_watched_ =
        args.HasArgument("progress_state") || !loss_blobs_.empty() || !image_blobs_.empty();
    for (const OperatorDef& op : net->net_def().op()) {
      const bool counts = op.type() == "Iter" || op.type() == "AtomicIter";
      if (counts) counter_ = op.output(0);
      is_watched_ = is_watched_ || counts || kReductions.count(op.type()) != 0;
    }
  }

  bool is_watched() const { return is_watched_; }
  bool WatchesOperators() const override { return false; }

  void NetStarts() override {
    Update([this](Progress* progress) {
      // Time between two runs counts, unless the process was in another state.
      if (std::exchange(progress->status.state, state_) != state_) StartMeasuring();
    });
  }

  void NetStops() override {
    if (std::uncaught_exceptions() > 0) return;
    ++runs_;
    ++measured_runs_;
    const Tensor* counter = counter_.empty() ? nullptr : FindTensor(net_, counter_);
    const bool counts = counter != nullptr && counter->GetDeviceType() == CPU &&
                        counter->dtype() == TypeMeta::Make<int64_t>();
    const double seconds = std::chrono::duration<double>(Clock::now() - measured_since_).count();
    const bool renews = Clock::now() - measured_since_ >= kRenewEvery;
    const double loss = renews ? Loss() : 0;
    const auto images = static_cast<double>(renews ? Images() * measured_runs_ : 0);
    Update([&](Progress* progress) {
      progress->has_counter = progress->has_counter || counts;
      ShardStatus& status = progress->status;
      if (counts) status.iteration = counter->data<int64_t>()[0];
      if (!progress->has_counter && state_ == "training") status.iteration = runs_;
      if (renews && !loss_blobs_.empty()) status.loss = loss;
      if (renews && !image_blobs_.empty()) status.images_per_second = images / seconds;
    });
    if (renews) StartMeasuring();
  }

 private:
  void StartMeasuring() {
    measured_since_ = Clock::now();
    measured_runs_ = 0;
  }

  double Loss() const {
    double loss = 0;
    for (size_t i = 0; i < loss_blobs_.size(); ++i) {
      const Tensor* tensor = FindTensor(net_, loss_blobs_[i]);
      if (tensor == nullptr || tensor->dtype() != TypeMeta::Make<float>()) continue;
      Tensor copy(CPU);
      loss += static_cast<double>(OnHost(*tensor, &copy).data<float>()[0] * loss_scales_[i]);
    }
    return loss;
  }

  int64_t Images() const {
    int64_t images = 0;
    for (const std::string& name : image_blobs_) {
      const Tensor* tensor = FindTensor(net_, name);
      if (tensor != nullptr && tensor->dim() > 0) images += tensor->size(0);
    }
    return images;
  }

  const NetBase* net_;
  std::string state_, counter_;
  std::vector<std::string> loss_blobs_, image_blobs_;
  std::vector<float> loss_scales_;
  bool is_watched_ = false;
  int64_t runs_ = 0, measured_runs_ = 0;
  Clock::time_point measured_since_ = Clock::now();
};

}  // namespace

void WatchNetsForProgress() {
  AddGlobalNetObserverCreator([](const NetBase* net) {
    auto observer = std::make_unique<ProgressObserver>(net);
    if (!observer->is_watched()) observer.reset();
    return observer;
  });
}

void ShowProgressState(const std::string& state) {
  Update([&](Progress* progress) { progress->status.state = state; });
}

void ShowProgressEpoch(int64_t epoch) {
  Update([=](Progress* progress) { progress->status.epoch = epoch; });
}

void PublishProgress() {
  const auto runs = JoinedRuns();
  if (runs.empty()) return;
  ShardStatus status;
  {
    const std::lock_guard<ForkSafeMutex> lock(OfProcess().mutex);
    status = OfProcess().status;
  }
  for (const auto& run : runs) run->UpdateStatus(status);
}

}  // namespace caffe2
