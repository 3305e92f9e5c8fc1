#include "caffe2/cuda/cudnn_work.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/convolution.h"
#include "caffe2/cuda/matmul.h"
#include "caffe2/cuda/runtime.h"
#include "caffe2/cuda/scratch.h"
#include "caffe2/cuda/side_stream.h"
#include "caffe2/utils/plan_cache.h"

namespace caffe2::cuda {
namespace {

constexpr size_t kMostPlans = 8;  // to choose from
constexpr char kPurpose[] = "workspace for cuDNN";

// What is kept of one work; no plan where cuDNN has none.
struct Kept {
  std::optional<CudnnPlan> plan;
  bool has_run = false;
};

// Plans of one device, kept as long as the process.
struct Device {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
  std::map<std::string, Kept> plans;
};

Device& DeviceOf(int id) {
  static std::mutex mutex;
  static auto* devices = new std::map<int, Device>;
  std::lock_guard<std::mutex> lock(mutex);
  Device& device = (*devices)[id];
  if (device.handle == nullptr) CheckCudnn(cudnnCreate(&device.handle), "start");
  return device;
}

// One run of a plan.
struct Run {
  cudnnHandle_t handle;
  const CudnnArrays& arrays;
  int device;
  Stream stream;

  void operator()(const CudnnPlan& plan) const {
    const Scratch workspace(plan.workspace_bytes, device, stream, kPurpose);
    RunCudnnPlan(handle, plan, arrays.ids, arrays.data, workspace.get());
  }
};

// Whether plans may be measured now: where the choice is kept, as another one the next time would
// give other bits; and not in a stream that is recorded, which runs nothing.
bool MayMeasure(Stream stream) { return PlanCache::Default().is_kept() && !IsRecorded(stream); }

std::vector<CudnnPlan> ListPlans(const CudnnWork& work, const CudnnTarget& target, size_t most) {
  return ListCudnnPlans(work.graph(target), target, work.rules, work.key, most);
}
// On the device of the run, whose memory limits the workspace.
std::vector<CudnnPlan> ListPlans(CudnnWork work, const Run& run, size_t most) {
  const auto memory = static_cast<int64_t>(Properties(run.device).total_memory);
  work.rules.most_workspace_bytes = std::min(work.rules.most_workspace_bytes, memory / 8);
  return ListPlans(work, CudnnTarget{.handle = run.handle}, most);
}

std::string KeyOf(const CudnnWork& work, int device) {
  return MakeString("cuDNN ", CudnnVersion(), ", ", Properties(device).name, ", ",
                    AllowTf32() ? "TF32, " : "", work.key);
}

void Keep(const std::string& key, const CudnnPlan& plan) {
  if (!PlanCache::Default().is_kept()) return;
  try {
    PlanCache::Default().Add(key, CudnnPlanText(plan));
  } catch (const Error& error) {
    LOG(WARNING) << "a plan cannot be kept (" << key << "): " << error.what();
  }
}

int Fastest(const std::vector<CudnnPlan>& plans, const CudnnWork& work, const Run& run,
            bool* lacked_memory) {
  const Scratch instead(work.changed_bytes, run.device, run.stream, kPurpose);
  CudnnArrays arrays = run.arrays;
  for (size_t i = 0; i < arrays.ids.size(); ++i) {
    if (arrays.ids[i] == work.changed) arrays.data[i] = instead.get();
  }
  // What goes on beside it would count.
  Synchronize(GetStream(run.device, kComputeStream));
  Synchronize(GetStream(run.device, kSideStream));
  const Run trial{run.handle, arrays, run.device, run.stream};
  const auto measure = [&](int i) {
    return MillisecondsOf(run.stream, [&] {
      for (int repeat = 0; repeat < 3; ++repeat) trial(plans[i]);
    });
  };
  return FastestOf(static_cast<int>(plans.size()), measure, lacked_memory);
}

// The plan in the cache, or the fastest of those that the heuristics rank first. Measuring writes
// the same result again and again.
CudnnPlan ChoosePlan(const CudnnWork& work, const Run& run) {
  const std::string key = KeyOf(work, run.device);
  if (const auto text = PlanCache::Default().Find(key)) {
    try {
      return ReadCudnnPlan(*text, {.handle = run.handle});
    } catch (const Error& error) {
      LOG(WARNING) << "a plan in the cache is of no use (" << key << "): " << error.what();
    }
  }
  if (!MayMeasure(run.stream)) return std::move(ListPlans(work, run, 1).front());
  std::vector<CudnnPlan> plans = ListPlans(work, run, kMostPlans);
  const int n = static_cast<int>(plans.size());
  bool lacked_memory = false;
  const int best = n == 1 ? 0 : Fastest(plans, work, run, &lacked_memory);
  VLOG(1) << key << ": plan " << best << " of " << n << ", engine " << plans[best].engine;
  if (!lacked_memory) Keep(key, plans[best]);  // another time there may be more
  return std::move(plans[best]);
}

// A plan may turn out not to work when it first runs: the next one that does takes its place. In a
// recording it is too late for that.
void RunKept(const CudnnWork& work, const Run& run, Kept* kept) {
  try {
    run(*kept->plan);
    kept->has_run = true;
    return;
  } catch (const OutOfMemoryError&) {
    throw;  // says nothing about the plan
  } catch (const Error& error) {
    if (kept->has_run || IsRecorded(run.stream)) throw;
    LOG(WARNING) << work.key << ": another plan is looked for, as " << error.what();
  }
  std::vector<CudnnPlan> plans = ListPlans(work, run, kMostPlans);
  const int n = static_cast<int>(plans.size());
  bool lacked_memory = false;
  const int first = FirstThatWorks(
      n, [&](int i) { run(plans[i]); }, &lacked_memory);
  kept->plan = std::move(plans[first]);
  kept->has_run = true;
  if (!lacked_memory) Keep(KeyOf(work, run.device), *kept->plan);
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
  Kept& kept = device.plans[work.key];
  if (!kept.plan) kept.plan = ChoosePlan(work, run);
  RunKept(work, run, &kept);
}

bool TryCudnnWork(const CudnnWork& work, const CudnnArrays& arrays, int device_id, Stream stream) {
  Device& device = DeviceOf(device_id);
  std::lock_guard<std::mutex> lock(device.mutex);
  CheckCudnn(cudnnSetStream(device.handle, stream), "stream");
  const Run run{device.handle, arrays, device_id, stream};
  auto found = device.plans.find(work.key);
  if (found == device.plans.end()) {
    found = device.plans.emplace(work.key, Kept{TryChoosePlan(work, run)}).first;
  }
  Kept& kept = found->second;
  if (!kept.plan) return false;
  try {
    RunKept(work, run, &kept);
    return true;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const Error& error) {
    if (kept.has_run || IsRecorded(stream)) throw;
    LOG(WARNING) << "done in parts: " << work.key << ": " << error.what();
    kept.plan.reset();
    return false;
  }
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
