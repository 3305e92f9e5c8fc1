// Finds the group of a list of devices: with NCCL, without it, and in the emulation of the tests.
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/nccl.h"

namespace caffe2::cuda {
namespace {

std::string Describe(const std::vector<int>& devices) {
  std::string text;
  for (const int device : devices) text += MakeString(text.empty() ? "" : ", ", "cuda:", device);
  return text;
}

}  // namespace

LocalNcclGroup* FindLocalGroup(const std::vector<int>& devices,
                               const std::function<std::unique_ptr<LocalNcclGroup>()>& make) {
  static std::mutex mutex;
  static auto* groups = new std::map<std::vector<int>, std::unique_ptr<LocalNcclGroup>>;
  std::lock_guard<std::mutex> lock(mutex);
  const auto known = groups->find(devices);
  if (known != groups->end()) return known->second.get();
  std::unique_ptr<LocalNcclGroup>& group = (*groups)[devices];
  const bool different = std::set<int>(devices.begin(), devices.end()).size() == devices.size();
  if (devices.size() < 2 || !different) {
    if (devices.size() > 1) {
      LOG(INFO) << "collectives among " << Describe(devices) << " are copies and additions: NCCL "
                << "needs different devices";
    }
    return nullptr;
  }
  try {
    group = make();
    LOG(INFO) << "collectives among " << Describe(devices) << " go through NCCL";
  } catch (const Error& error) {
    LOG(WARNING) << "collectives among " << Describe(devices)
                 << " are copies and additions: " << error.what();
  }
  return group.get();
}

}  // namespace caffe2::cuda
