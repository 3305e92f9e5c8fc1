#include "distributed/launcher/watched_host_file.h"

#include <algorithm>

#include "caffe2/core/usage_error.h"

namespace caffe2 {

WatchedHostFile::WatchedHostFile(std::string path, std::vector<HostSlots> hosts, bool local_only)
    : path_(std::move(path)), hosts_(std::move(hosts)), local_only_(local_only) {}

std::optional<std::vector<HostSlots>> WatchedHostFile::ReadIfChanged() {
  try {
    std::vector<HostSlots> hosts = ReadHostFile(path_);
    const auto other = std::find_if(hosts.begin(), hosts.end(),
                                    [](const HostSlots& each) { return !IsThisHost(each.host); });
    CheckUsage(!local_only_ || other == hosts.end(), "--hostfile ", path_, " names ", other->host,
               " now, but the run began on this host alone and stays there");
    last_error_.clear();
    if (hosts == hosts_) return std::nullopt;
    hosts_ = std::move(hosts);
    return hosts_;
  } catch (const std::exception& error) {
    if (error.what() != last_error_) {
      last_error_ = error.what();
      LOG(WARNING) << last_error_ << "; the hosts of before stay";
    }
    return std::nullopt;
  }
}

}  // namespace caffe2
