#include "distributed/launcher/watched_host_file.h"

#include <chrono>
#include <thread>

#include "caffe2/core/usage_error.h"

namespace caffe2 {

namespace {
constexpr std::chrono::milliseconds kSettled{200};
}  // namespace

WatchedHostFile::WatchedHostFile(std::string path, std::vector<HostSlots> hosts, bool local_only)
    : path_(std::move(path)), hosts_(std::move(hosts)), local_only_(local_only) {}

std::optional<std::vector<HostSlots>> WatchedHostFile::ReadIfChanged() {
  try {
    std::vector<HostSlots> hosts = ReadHostFile(path_);
    if (hosts != hosts_) {
      // Perhaps it is written just now.
      std::this_thread::sleep_for(kSettled);
      if (ReadHostFile(path_) != hosts) return std::nullopt;
    }
    for (const HostSlots& each : hosts) {
      if (!local_only_ || IsThisHost(each.host)) continue;
      ThrowUsage("--hostfile ", path_, " names ", each.host,
                 " now, but the run began on this host alone and stays there");
    }
    last_error_.clear();
    if (hosts == hosts_) return std::nullopt;
    hosts_ = std::move(hosts);
    return hosts_;
  } catch (const std::exception& error) {
    if (error.what() != last_error_) {
      last_error_ = error.what();
      LOG(WARNING) << last_error_ << "; the known hosts are kept";
    }
    return std::nullopt;
  }
}

}  // namespace caffe2
