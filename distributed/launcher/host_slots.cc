#include "distributed/launcher/host_slots.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/bounded_read.h"
#include "distributed/host.h"
#include "distributed/host_list.h"

namespace caffe2 {

namespace {

constexpr int kMaxSlots = 4096;
constexpr size_t kMaxDigits = 4;

int ParseSlots(const std::string& where, const std::string& text) {
  const bool number = !text.empty() && text.size() <= kMaxDigits &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  const int slots = number ? std::stoi(text) : 0;
  CheckUsage(slots >= 1 && slots <= kMaxSlots, where, ": \"", text,
             "\" is not a number of slots, from 1 to ", kMaxSlots);
  return slots;
}

void AddHost(const std::string& host, int slots, std::vector<HostSlots>* hosts) {
  const auto known = std::find_if(hosts->begin(), hosts->end(),
                                  [&](const HostSlots& each) { return each.host == host; });
  if (known == hosts->end()) {
    hosts->push_back({host, slots});
  } else {
    known->slots += slots;
  }
}

// Adds the hosts of "n[1-3]:4".
void AddHosts(const std::string& where, const std::string& item, std::vector<HostSlots>* hosts) {
  const size_t colon = item.rfind(':');
  const int slots = colon == std::string::npos ? 1 : ParseSlots(where, item.substr(colon + 1));
  for (const std::string& host : ExpandHostList(where, item.substr(0, colon))) {
    // ssh would take such a name for an option.
    CheckUsage(host[0] != '-', where, ": \"", host, "\" is not the name of a host");
    AddHost(host, slots, hosts);
  }
}

}  // namespace

std::vector<HostSlots> ParseHosts(const std::string& option, const std::string& text) {
  std::vector<HostSlots> hosts;
  for (const std::string& item : SplitHostList(option, text)) AddHosts(option, item, &hosts);
  return hosts;
}

std::vector<HostSlots> ReadHostFile(const std::string& path) {
  constexpr int64_t kMaxBytes = 1 << 20;  // /dev/zero has no end
  std::ifstream file(path);
  if (!file) ThrowIoError(ExitCode::kNoInput, "--hostfile: cannot read ", path);
  std::istringstream lines(ReadAtMost(kMaxBytes, "--hostfile " + path, &file));
  std::vector<HostSlots> hosts;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = MakeString("--hostfile ", path, " line ", ++number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host, slots, most;
    if (!(words >> host)) continue;
    // Open MPI's files may also limit what -n may take: "max_slots=4".
    const bool right =
        !(words >> slots) ||
        (slots.rfind("slots=", 0) == 0 && (!(words >> most) || most.rfind("max_slots=", 0) == 0));
    CheckUsage(right, where, ": \"", line, "\" is not \"host slots=N\"");
    if (!slots.empty()) host += ":" + slots.substr(slots.find('=') + 1);
    AddHosts(where, host, &hosts);
  }
  CheckUsage(!hosts.empty(), "--hostfile ", path, " names no host");
  return hosts;
}

int TotalSlots(const std::vector<HostSlots>& hosts) {
  int total = 0;
  for (const HostSlots& each : hosts) total += each.slots;
  return total;
}

std::vector<ShardPlace> PlaceShards(const std::vector<HostSlots>& hosts, int num_shards) {
  const int total = TotalSlots(hosts);
  CheckUsage(num_shards >= 1 && num_shards <= total, "-n is ", num_shards, ", but the hosts have ",
             total, " slots: give more slots (HOST:SLOTS), or start fewer shards");
  std::vector<ShardPlace> places;
  for (const HostSlots& each : hosts) {
    const int here = std::min(each.slots, num_shards - static_cast<int>(places.size()));
    for (int i = 0; i < here; ++i) places.push_back({each.host, i, here});
  }
  return places;
}

bool IsThisHost(const std::string& host) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return host == "localhost" || IsLoopback(host) || host == name;
}

}  // namespace caffe2
