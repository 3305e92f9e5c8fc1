#include "caffe2/core/cpu_cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace caffe2 {
namespace {

constexpr int kMaxCore = 65535;

std::optional<int> ParseCore(const std::string& text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  const int core = std::stoi(text);
  return core <= kMaxCore ? std::optional<int>(core) : std::nullopt;
}

// Calls visit for the folder and for each folder above it, up to `mount`.
template <class Visit>
void ForEachGroupUpwards(const std::string& mount, std::string path, const Visit& visit) {
  while (true) {
    visit(mount + path);
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    path.resize(slash);
  }
}

// Version 2: "max 100000" or "250000 100000", microseconds of each period.
std::optional<double> QuotaOfVersion2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Version 1: -1 is no quota.
std::optional<double> QuotaOfVersion1(const std::string& group) {
  double quota = 0, period = 0;
  std::ifstream(group + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(group + "/cpu.cfs_period_us") >> period;
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

CoreSet AffinityCores() {
  CoreSet cores;
  // The kernel refuses a mask that is too short for the cores of the machine.
  for (int bits = 1024; bits <= kMaxCore + 1; bits *= 2) {
    std::vector<unsigned long> words(bits / (8 * sizeof(unsigned long)));
    auto* mask = reinterpret_cast<cpu_set_t*>(words.data());
    const size_t bytes = words.size() * sizeof(unsigned long);
    if (sched_getaffinity(0, bytes, mask) != 0) continue;
    for (int core = 0; core < bits; ++core) {
      if (CPU_ISSET_S(core, bytes, mask)) cores.insert(core);
    }
    break;
  }
  return cores;
}

std::string FormatCores(const CoreSet& cores) {
  std::string text;
  for (auto core = cores.begin(); core != cores.end();) {
    const int first = *core;
    int last = first;
    while (++core != cores.end() && *core == last + 1) last = *core;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text;
}

CoreSet ParseCores(const std::string& text) {
  if (!text.empty() && text.back() == ',') return {};
  CoreSet cores;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    const size_t dash = part.find('-');
    const auto first = ParseCore(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : ParseCore(part.substr(dash + 1));
    if (!first || !last || *last < *first) return {};
    for (int core = *first; core <= *last; ++core) cores.insert(core);
  }
  return cores;
}

std::optional<double> CoreQuota(const std::string& mount, const std::string& own_groups) {
  std::optional<double> min;
  const auto note = [&min](std::optional<double> quota) {
    if (quota && (!min || *quota < *min)) min = quota;
  };
  // Lines "<number>:<controllers>:<path>"; the controllers of version 2 are empty.
  std::ifstream groups(own_groups);
  std::string line;
  while (std::getline(groups, line)) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (controllers.empty()) {
      ForEachGroupUpwards(mount, path, [&](const auto& group) { note(QuotaOfVersion2(group)); });
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      ForEachGroupUpwards(mount + "/" + controllers, path,
                          [&](const auto& group) { note(QuotaOfVersion1(group)); });
    }
  }
  return min;
}

int AvailableCores() {
  int cores = static_cast<int>(AffinityCores().size());
  if (cores == 0) cores = static_cast<int>(std::thread::hardware_concurrency());
  if (const auto quota = CoreQuota()) cores = std::min(cores, static_cast<int>(std::ceil(*quota)));
  return std::max(1, cores);
}

}  // namespace caffe2
