// The processor, memory and limits of this process.
#include <sys/resource.h>
#include <sys/timex.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "caffe2/core/cpu_cores.h"
#include "examples/doppio/doctor/checks.h"
#include "examples/doppio/text.h"

namespace caffe2::doctor {
namespace {

// The first line of a file; empty if there is none.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The lines "name : value" of a file of /proc; of equal names the first counts.
std::map<std::string, std::string> ReadFields(const std::string& path) {
  std::map<std::string, std::string> fields;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t name_end = line.find_last_not_of(" \t", colon - 1) + 1;
    const size_t value = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
    fields.emplace(line.substr(0, name_end), line.substr(value));
  }
  return fields;
}

std::set<std::string> WordsOf(const std::string& text) {
  std::istringstream stream(text);
  std::set<std::string> words;
  for (std::string word; stream >> word;) words.insert(word);
  return words;
}

// "MemTotal: 16384 kB" in bytes; 0 if the field is missing.
int64_t KilobytesField(const std::map<std::string, std::string>& fields, const char* name) {
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : std::atoll(found->second.c_str()) << 10;
}

// The memory limit of the control group in bytes; 0 if there is none. In a container the mounts
// show its own group.
int64_t MemoryLimit() {
  for (const char* path : {"/sys/fs/cgroup/memory.max",  // version 2, then 1
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const int64_t limit = std::atoll(FirstLine(path).c_str());
    if (limit > 0 && limit < int64_t{1} << 60) return limit;  // version 1 says 2^63 for no limit
  }
  return 0;
}

}  // namespace

Findings CheckProcessor() {
  const auto fields = ReadFields("/proc/cpuinfo");
  const auto field = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  const std::set<std::string> flags = WordsOf(field("flags"));  // empty unless x86
  std::string features;
  for (const char* each : {"avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16"}) {
    if (flags.count(each) != 0) features += std::string(features.empty() ? "" : ", ") + each;
  }
  const std::string name =
      field("model name").empty() ? "processor without a name" : field("model name");
  if (features.empty()) {
    return {Warning("processor", name + ", without AVX2",
                    "training works, but slowly: use a processor with AVX2 or AVX-512")};
  }
  return {Ok("processor", name + ": " + features)};
}

Findings CheckThreads() {
  const int cores = AvailableCores();
  const auto quota = CoreQuota();
  std::string text = MakeString(cores, cores == 1 ? " core" : " cores", " for this process (",
                                FormatCores(AffinityCores()));
  if (quota) text += MakeString("; quota of the control group: ", *quota);
  text += ")";
  const char* given = std::getenv("OMP_NUM_THREADS");
  if (given == nullptr) return {Ok("threads", text)};
  text += std::string(", OMP_NUM_THREADS=") + given;
  if (std::atoi(given) > cores) {
    return {Warning("threads", text,
                    "more threads than cores hold each other up: unset OMP_NUM_THREADS, or set it "
                    "to at most " +
                        std::to_string(cores))};
  }
  return {Ok("threads", text)};
}

Findings CheckMemory() {
  constexpr int64_t kLittle = int64_t{2} << 30;
  const auto fields = ReadFields("/proc/meminfo");
  const int64_t total = KilobytesField(fields, "MemTotal");
  const int64_t available = KilobytesField(fields, "MemAvailable");
  const int64_t limit = MemoryLimit();
  std::string text = HumanBytes(available) + " available of " + HumanBytes(total);
  if (limit > 0) text += "; limit of the control group: " + HumanBytes(limit);
  if (available < kLittle || (limit > 0 && limit < kLittle)) {
    return {Warning("memory", text,
                    "enough for LeNet, but not for a ResNet-50: end other programs, use a smaller "
                    "--batch_size, or raise the limit")};
  }
  return {Ok("memory", text)};
}

Findings CheckFileDescriptors() {
  constexpr rlim_t kEnough = 4096;
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string text =
      MakeString(limit.rlim_cur, " files and sockets, may be raised to ", limit.rlim_max);
  if (limit.rlim_max < kEnough) {
    return {Warning("file descriptors", text,
                    MakeString("a shard needs two sockets for each other shard: allow ", kEnough,
                               " (ulimit -Hn, /etc/security/limits.conf, or docker run --ulimit "
                               "nofile=",
                               kEnough, ")"))};
  }
  return {Ok("file descriptors", text)};
}

Findings CheckClock() {
  char now[64];
  const std::time_t seconds = std::time(nullptr);
  std::tm utc = {};
  std::strftime(now, sizeof(now), "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&seconds, &utc));
  timex state = {};
  const bool synchronized = adjtimex(&state) >= 0 && (state.status & STA_UNSYNC) == 0;
  return {Ok("clock", MakeString(now, synchronized ? ", synchronized"
                                                   : "; the kernel does not know whether it is "
                                                     "synchronized (--redis_host compares it)"))};
}

}  // namespace caffe2::doctor
