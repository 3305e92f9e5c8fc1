#include "caffe2/core/net_observer.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

#include "caffe2/core/fork_safe_mutex.h"
#include "caffe2/core/net.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

// A sum of times to which several threads add.
class TimeSum {
 public:
  void Start() { start_.store(Now(), std::memory_order_relaxed); }
  void Stop() {
    total_.fetch_add(Now() - start_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  double milliseconds() const {
    const Clock::duration total(total_.load(std::memory_order_relaxed));
    return std::chrono::duration<double, std::milli>(total).count();
  }

 private:
  static Clock::rep Now() { return Clock::now().time_since_epoch().count(); }

  std::atomic<Clock::rep> start_{0}, total_{0};
  std::atomic<int64_t> count_{0};
};

float Mean(double total, int64_t count) {
  return count == 0 ? 0.f : static_cast<float>(total / static_cast<double>(count));
}

class TimeObserver : public NetObserver {
 public:
  explicit TimeObserver(const NetBase* net)
      : net_name_(net->Name()), operators_(net->operators().size()) {}

  void NetStarts() override { run_.Start(); }
  void NetStops() override { run_.Stop(); }
  void OperatorStarts(size_t i) override { operators_[i].Start(); }
  void OperatorStops(size_t i) override { operators_[i].Stop(); }

  float AverageTime() const override { return Mean(run_.milliseconds(), run_.count()); }
  float AverageTimeChildren() const override {
    double total = 0;
    int64_t count = 0;
    for (const TimeSum& sum : operators_) {
      total += sum.milliseconds();
      count += sum.count();
    }
    return Mean(total, count);
  }
  std::string DebugInfo() const override {
    return MakeString("net ", net_name_, ": ", AverageTime(), " ms a run over ", run_.count(),
                      " runs, ", AverageTimeChildren(), " ms an operator");
  }

 protected:
  std::string net_name_;
  TimeSum run_;
  std::vector<TimeSum> operators_;
};

class ProfileObserver final : public TimeObserver {
 public:
  explicit ProfileObserver(const NetBase* net) : TimeObserver(net) {
    for (const auto& op : net->operators()) {
      const std::string& name = op->debug_def().name();
      operator_names_.push_back(op->type() + (name.empty() ? "" : " ") + name);
    }
  }

  std::string DebugInfo() const override {
    std::ostringstream text;
    text << TimeObserver::DebugInfo() << "\n";
    for (size_t i = 0; i < operators_.size(); ++i) {
      text << "operator " << i << " " << operator_names_[i] << ": "
           << Mean(operators_[i].milliseconds(), operators_[i].count()) << " ms, "
           << operators_[i].count() << " runs\n";
    }
    return text.str();
  }

 private:
  std::vector<std::string> operator_names_;
};

class RunCountObserver final : public NetObserver {
 public:
  explicit RunCountObserver(const NetBase* /*net*/) {}
  void OperatorStops(size_t /*i*/) override { count_.fetch_add(1, std::memory_order_relaxed); }
  std::string DebugInfo() const override {
    return "This operator runs " + std::to_string(count_.load()) + " times.";
  }

 private:
  std::atomic<int64_t> count_{0};
};

REGISTER_NET_OBSERVER(TimeObserver, TimeObserver);
REGISTER_NET_OBSERVER(ProfileObserver, ProfileObserver);
REGISTER_NET_OBSERVER(RunCountObserver, RunCountObserver);

}  // namespace

Registry<std::string, NetObserver, const NetBase*>& NetObserverRegistry() {
  static auto* registry = new Registry<std::string, NetObserver, const NetBase*>;
  return *registry;
}

namespace {

struct GlobalCreators {
  ForkSafeMutex mutex;
  std::vector<NetObserverCreator> all;
};
GlobalCreators& Creators() {
  static auto* creators = new GlobalCreators;
  return *creators;
}

}  // namespace

void AddGlobalNetObserverCreator(NetObserverCreator creator) {
  const std::lock_guard<ForkSafeMutex> lock(Creators().mutex);
  Creators().all.push_back(std::move(creator));
}

void AttachGlobalObservers(NetBase* net) {
  std::vector<NetObserverCreator> creators;
  {
    const std::lock_guard<ForkSafeMutex> lock(Creators().mutex);
    creators = Creators().all;
  }
  for (const NetObserverCreator& create : creators) {
    if (auto observer = create(net)) net->AttachObserver(std::move(observer));
  }
}

std::unique_ptr<NetObserver> CreateNetObserver(const std::string& type, const NetBase* net) {
  auto observer = NetObserverRegistry().Create(type, net);
  if (observer == nullptr) {
    std::string known;
    for (const std::string& key : NetObserverRegistry().Keys()) known += " " + key;
    CAFFE_THROW("unknown observer type ", type, "; known:", known);
  }
  return observer;
}

}  // namespace caffe2
