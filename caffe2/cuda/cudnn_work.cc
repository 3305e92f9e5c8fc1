#include "caffe2/cuda/cudnn_work.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/convolution.h"
#include "caffe2/cuda/matmul.h"
#include "caffe2/cuda/runtime.h"
#include "caffe2/cuda/stream_memory.h"
#include "caffe2/utils/plan_cache.h"

namespace caffe2::cuda {
namespace {

// Plans of one device, kept as long as the process; none where cuDNN has none.
struct Device {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
  std::map<std::string, std::optional<CudnnPlan>> plans;
};

Device& DeviceOf(int id) {
  static std::mutex mutex;
  static auto* devices = new std::map<int, Device>;
  std::lock_guard<std::mutex> lock(mutex);
  Device& device = (*devices)[id];
  if (device.handle == nullptr) CheckCudnn(cudnnCreate(&device.handle), "start");
  return device;
}

// Memory for one run; work that is launched later in this stream may use it again.
class Scratch {
 public:
  Scratch(int64_t nbytes, int device, Stream stream) : device_(device), stream_(stream) {
    if (nbytes == 0) return;
    data_ = IsCompute() ? Allocate(nbytes, device) : AllocateOn(stream, nbytes, device);
    if (data_ == nullptr) {
      const FreeMemory memory = MemoryOf(device);
      throw OutOfMemoryError(MakeString("out of memory on cuda:", device, ": cannot allocate ",
                                        nbytes, " bytes of workspace for cuDNN; ", memory.free,
                                        " of ", memory.total, " are free"));
    }
  }
  ~Scratch() {
    if (data_ == nullptr) return;
    IsCompute() ? Free(data_, device_) : FreeOn(stream_, data_, device_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* get() const { return data_; }

 private:
  bool IsCompute() const { return stream_ == GetStream(device_, kComputeStream); }

  int device_;
  Stream stream_;
  void* data_ = nullptr;
};

// One run of a plan.
struct Run {
  cudnnHandle_t handle;
  const CudnnArrays& arrays;
  int device;
  Stream stream;

  void operator()(const CudnnPlan& plan) const {
    const Scratch workspace(plan.workspace_bytes, device, stream);
    RunCudnnPlan(handle, plan, arrays.ids, arrays.data, workspace.get());
  }
};

// Whether plans may be measured now: where the choice is kept, as another one the next time would
// give other bits; and not in a stream that is recorded, which runs nothing.
bool MayMeasure(Stream stream) { return PlanCache::Default().is_kept() && !IsRecorded(stream); }

std::vector<CudnnPlan> ListPlans(const CudnnWork& work, const CudnnTarget& target, size_t most) {
  return ListCudnnPlans(work.graph(target), target, work.rules, work.key, most);
}

int Fastest(const std::vector<CudnnPlan>& plans, const CudnnWork& work, const Run& run) {
  const Scratch instead(work.changed_bytes, run.device, run.stream);
  CudnnArrays arrays = run.arrays;
  for (size_t i = 0; i < arrays.ids.size(); ++i) {
    if (arrays.ids[i] == work.changed) arrays.data[i] = instead.get();
  }
  const Run trial{run.handle, arrays, run.device, run.stream};
  return FastestOf(static_cast<int>(plans.size()), [&](int i) {
    return MillisecondsOf(run.stream, [&] {
      for (int repeat = 0; repeat < 3; ++repeat) trial(plans[i]);
    });
  });
}

// The plan in the cache, or the fastest of those that the heuristics rank first. Measuring writes
// the same result again and again.
CudnnPlan ChoosePlan(const CudnnWork& work, const Run& run) {
  constexpr size_t kMostPlans = 8;
  const CudnnTarget target{.handle = run.handle};
  const std::string key = MakeString("cuDNN ", CudnnVersion(), ", ", Properties(run.device).name,
                                     ", ", AllowTf32() ? "TF32, " : "", work.key);
  if (const auto text = PlanCache::Default().Find(key)) {
    try {
      return ReadCudnnPlan(*text, target);
    } catch (const Error& error) {
      LOG(WARNING) << "a plan in the cache is of no use (" << key << "): " << error.what();
    }
  }
  if (!MayMeasure(run.stream)) return std::move(ListPlans(work, target, 1).front());
  std::vector<CudnnPlan> plans = ListPlans(work, target, kMostPlans);
  const int n = static_cast<int>(plans.size());
  const int best = n == 1 ? 0 : Fastest(plans, work, run);
  VLOG(1) << key << ": plan " << best << " of " << n << ", engine " << plans[best].engine;
  PlanCache::Default().Add(key, CudnnPlanText(plans[best]));
  return std::move(plans[best]);
}

// Empty if cuDNN has none, which is logged.
std::optional<CudnnPlan> TryChoosePlan(const CudnnWork& work, const Run& run) {
  try {
    return ChoosePlan(work, run);
  } catch (const OutOfMemoryError&) {
    throw;  // says nothing about the plans
  } catch (const Error& error) {
    LOG(INFO) << "done in parts: " << error.what();
    return std::nullopt;
  }
}

}  // namespace

size_t CudnnVersion() { return cudnnGetVersion(); }

void RunCudnnWork(const CudnnWork& work, const CudnnArrays& arrays, int device_id, Stream stream) {
  Device& device = DeviceOf(device_id);
  std::lock_guard<std::mutex> lock(device.mutex);
  CheckCudnn(cudnnSetStream(device.handle, stream), "stream");
  const Run run{device.handle, arrays, device_id, stream};
  std::optional<CudnnPlan>& plan = device.plans[work.key];
  if (!plan) plan = ChoosePlan(work, run);
  run(*plan);
}

bool TryCudnnWork(const CudnnWork& work, const CudnnArrays& arrays, int device_id, Stream stream) {
  Device& device = DeviceOf(device_id);
  std::lock_guard<std::mutex> lock(device.mutex);
  CheckCudnn(cudnnSetStream(device.handle, stream), "stream");
  const Run run{device.handle, arrays, device_id, stream};
  auto found = device.plans.find(work.key);
  if (found == device.plans.end()) {
    found = device.plans.emplace(work.key, TryChoosePlan(work, run)).first;
  }
  if (!found->second) return false;
  run(*found->second);
  return true;
}

ConvPlanDescription DescribeCudnnWork(const CudnnWork& work, const std::string& device_json,
                                      int most) {
  const CudnnDescriptor device = CudnnDevice(device_json);
  const CudnnTarget target{.device = &device};
  const std::vector<CudnnPlan> plans = ListPlans(work, target, most);
  const CudnnPlan& first = plans.front();
  // A plan that the cache could not give back would be measured in every process.
  const CudnnPlan again = ReadCudnnPlan(CudnnPlanText(first), target);
  CAFFE_ENFORCE_EQ(again.workspace_bytes, first.workspace_bytes, "a plan read back differs");
  return {first.engine, first.workspace_bytes, static_cast<int>(plans.size())};
}

}  // namespace caffe2::cuda
