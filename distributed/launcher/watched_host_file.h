// A host file that may change while its run goes on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributed/launcher/host_slots.h"

namespace caffe2 {

// Not thread-safe.
class WatchedHostFile {
 public:
  // `hosts` is what the file held when it was first read. With `local_only`, a change that names
  // another host is refused.
  WatchedHostFile(std::string path, std::vector<HostSlots> hosts, bool local_only);

  // The hosts if the file lists others than at the last call, else nullopt. A change counts only if
  // two reads 0.2 s apart agree, because the file may be half written. If the file cannot be read,
  // is wrong or is refused, logs one warning and keeps the known hosts.
  std::optional<std::vector<HostSlots>> ReadIfChanged();

 private:
  const std::string path_;
  std::vector<HostSlots> hosts_;
  const bool local_only_;
  std::string last_error_;
};

}  // namespace caffe2
