#include "distributed/launcher/watched_host_file.h"

#include <chrono>
#include <system_error>
#include <thread>

#include "caffe2/core/usage_error.h"

namespace caffe2 {

namespace {
constexpr std::chrono::milliseconds kSettled{200};
constexpr std::chrono::seconds kPatience{2};

// The hosts, or nullopt if the file has just been written.
std::optional<std::vector<HostSlots>> ReadHosts(const std::string& path,
                                                const std::vector<HostSlots>& known,
                                                bool local_only) {
  std::vector<HostSlots> hosts = ReadHostFile(path);
  if (hosts != known) {
    // Perhaps it is written just now.
    std::this_thread::sleep_for(kSettled);
    if (ReadHostFile(path) != hosts) return std::nullopt;
  }
  for (const HostSlots& each : hosts) {
    if (!local_only || IsThisHost(each.host)) continue;
    ThrowUsage("--hostfile ", path, " names ", each.host,
               " now, but the run began on this host alone and stays there");
  }
  return hosts;
}

}  // namespace

WatchedHostFile::WatchedHostFile(std::string path, std::vector<HostSlots> hosts, bool local_only)
    : path_(std::move(path)), hosts_(std::move(hosts)), local_only_(local_only) {}

WatchedHostFile::Reading WatchedHostFile::Read(const std::string& path, const Hosts& known,
                                               bool local_only) {
  try {
    return {.hosts = ReadHosts(path, known, local_only)};
  } catch (const std::exception& error) {
    return {.problem = error.what()};
  }
}

std::optional<std::vector<HostSlots>> WatchedHostFile::ReadIfChanged() {
  const bool is_late = reading_.valid();
  if (!is_late) {
    std::packaged_task<Reading()> read([path = path_, known = hosts_, local_only = local_only_] {
      return Read(path, known, local_only);
    });
    reading_ = read.get_future();
    try {
      std::thread(std::move(read)).detach();  // it may never end
    } catch (const std::system_error& error) {
      reading_ = {};
      Warn("--hostfile " + path_ + ": no thread to read it: " + error.what());
      return std::nullopt;
    }
  }
  const std::chrono::seconds patience = is_late ? std::chrono::seconds(0) : kPatience;
  if (reading_.wait_for(patience) != std::future_status::ready) {
    Warn("--hostfile " + path_ + ": reading it takes long (does its disk hang?)");
    return std::nullopt;
  }
  Reading reading = reading_.get();
  if (!reading.problem.empty()) Warn(reading.problem);
  if (!reading.hosts) return std::nullopt;
  last_warning_.clear();
  if (*reading.hosts == hosts_) return std::nullopt;
  hosts_ = *std::move(reading.hosts);
  return hosts_;
}

void WatchedHostFile::Warn(const std::string& text) {
  if (text == last_warning_) return;
  last_warning_ = text;
  LOG(WARNING) << text << "; the known hosts are kept";
}

}  // namespace caffe2
