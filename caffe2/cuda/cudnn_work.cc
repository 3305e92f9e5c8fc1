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
#include "caffe2/utils/plan_cache.h"

namespace caffe2::cuda {
namespace {

constexpr size_t kMaxPlans = 8;  // to choose from
constexpr char kPurpose[] = "workspace for cuDNN";

// The plan of one work; empty if cuDNN has none.
struct KeptPlan {
  std::optional<CudnnPlan> plan;
  bool has_run = false;
};

// The plans of one device, kept for the life of the process.
struct Device {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
  std::map<std::string, KeptPlan> plans;
};

Device& DeviceOf(int id) {
  static std::mutex mutex;
  static auto* devices = new std::map<int, Device>;
  std::lock_guard<std::mutex> lock(mutex);
  Device& device = (*devices)[id];
  if (device.handle == nullptr) CheckCudnn(cudnnCreate(&device.handle), "start");
  return device;
}

// Runs a plan once.
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

// True if plans may be measured now. The choice must be kept, because another choice in the next
// process would give other bits. A stream that is recorded runs nothing, so nothing can be
// measured.
bool MayMeasure(Stream stream) { return PlanCache::Default().is_kept() && !IsRecorded(stream); }

std::vector<CudnnPlan> ListPlans(const CudnnWork& work, const CudnnTarget& target,
                                 size_t max_plans) {
  return ListCudnnPlans(work.graph(target), target, work.rules, work.key, max_plans);
}
// For the device of the run, whose memory limits the workspace.
std::vector<CudnnPlan> ListPlans(CudnnWork work, const Run& run, size_t max_plans) {
  const auto memory = static_cast<int64_t>(Properties(run.device).total_memory);
  work.rules.max_workspace_bytes = std::min(work.rules.max_workspace_bytes, memory / 8);
  return ListPlans(work, CudnnTarget{.handle = run.handle}, max_plans);
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
    LOG(WARNING) << "the plan of " << key << " cannot be kept: " << error.what();
  }
}

int Fastest(const std::vector<CudnnPlan>& plans, const CudnnWork& work, const Run& run,
            bool* lacked_memory) {
  const Scratch instead(work.changed_bytes, run.device, run.stream, kPurpose);
  CudnnArrays arrays = run.arrays;
  for (size_t i = 0; i < arrays.ids.size(); ++i) {
    if (arrays.ids[i] == work.changed) arrays.data[i] = instead.get();
  }
  // Earlier work of the stream would be timed, too.
  Synchronize(run.stream);
  const Run trial{run.handle, arrays, run.device, run.stream};
  const auto measure = [&](int i) {
    return MillisecondsOf(run.stream, [&] {
      for (int repeat = 0; repeat < 3; ++repeat) trial(plans[i]);
    });
  };
  return FastestOf(static_cast<int>(plans.size()), measure, lacked_memory);
}

// The plan in the cache, else the fastest of the plans that the heuristics rank first. Measuring
// writes the same result again and again.
CudnnPlan ChoosePlan(const CudnnWork& work, const Run& run) {
  const std::string key = KeyOf(work, run.device);
  if (const auto text = PlanCache::Default().Find(key)) {
    try {
      return ReadCudnnPlan(*text, {.handle = run.handle});
    } catch (const Error& error) {
      LOG(WARNING) << "ignoring the plan of " << key << " in the cache: " << error.what();
    }
  }
  if (!MayMeasure(run.stream)) return std::move(ListPlans(work, run, 1).front());
  std::vector<CudnnPlan> plans = ListPlans(work, run, kMaxPlans);
  const int n = static_cast<int>(plans.size());
  bool lacked_memory = false;
  const int best = n == 1 ? 0 : Fastest(plans, work, run, &lacked_memory);
  VLOG(1) << key << ": plan " << best << " of " << n << ", engine " << plans[best].engine;
  if (!lacked_memory) Keep(key, plans[best]);  // else a later run, with more memory, chooses
  return std::move(plans[best]);
}

// Runs the kept plan. If it fails in its first run, replaces it by the next plan that works; a
// recording cannot do that.
void RunKept(const CudnnWork& work, const Run& run, KeptPlan* kept) {
  try {
    run(*kept->plan);
    kept->has_run = true;
    return;
  } catch (const OutOfMemoryError&) {
    throw;  // says nothing about the plan
  } catch (const Error& error) {
    if (kept->has_run || IsRecorded(run.stream)) throw;
    LOG(WARNING) << work.key << ": looking for another plan, because: " << error.what();
  }
  std::vector<CudnnPlan> plans = ListPlans(work, run, kMaxPlans);
  const int n = static_cast<int>(plans.size());
  bool lacked_memory = false;
  const int first = FirstThatWorks(
      n, [&](int i) { run(plans[i]); }, &lacked_memory);
  kept->plan = std::move(plans[first]);
  kept->has_run = true;
  if (!lacked_memory) Keep(KeyOf(work, run.device), *kept->plan);
}

// Empty if cuDNN has no plan; that is logged.
std::optional<CudnnPlan> TryChoosePlan(const CudnnWork& work, const Run& run) {
  try {
    return ChoosePlan(work, run);
  } catch (const OutOfMemoryError&) {
    throw;  // says nothing about the plans
  } catch (const Error& error) {
    LOG(INFO) << "not fused: " << error.what();
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
  KeptPlan& kept = device.plans[work.key];
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
    found = device.plans.emplace(work.key, KeptPlan{TryChoosePlan(work, run)}).first;
  }
  KeptPlan& kept = found->second;
  if (!kept.plan) return false;
  try {
    RunKept(work, run, &kept);
    return true;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const Error& error) {
    if (kept.has_run || IsRecorded(stream)) throw;
    LOG(WARNING) << "not fused: " << work.key << ": " << error.what();
    kept.plan.reset();
    return false;
  }
}

ConvPlanDescription DescribeCudnnWork(const CudnnWork& work, const std::string& device_json,
                                      int max_plans) {
  const CudnnDescriptor device = CudnnDevice(device_json);
  const CudnnTarget target{.device = &device};
  const std::vector<CudnnPlan> plans = ListPlans(work, target, max_plans);
  const CudnnPlan& first = plans.front();
  // If the cache could not restore a plan, every process would measure again.
  const CudnnPlan again = ReadCudnnPlan(CudnnPlanText(first), target);
  CAFFE_ENFORCE_EQ(again.workspace_bytes, first.workspace_bytes,
                   "the workspace of a plan that was saved and read back");
  return {first.engine, first.workspace_bytes, static_cast<int>(plans.size())};
}

}  // namespace caffe2::cuda
