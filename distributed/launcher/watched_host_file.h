// A host file that may change while its run goes on.
#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "distributed/launcher/host_slots.h"

namespace caffe2 {

// Threads of its own read the file, so that a disk that hangs holds up the caller for two seconds
// at most. Not thread-safe.
class WatchedHostFile {
 public:
  // `hosts` is what the file held when it was first read. With `local_only`, a change that names
  // another host is refused.
  WatchedHostFile(std::string path, std::vector<HostSlots> hosts, bool local_only);

  // The hosts if the file lists others than at the last call, else nullopt. A change counts only if
  // two reads 0.2 s apart agree, because the file may be half written. If the file cannot be read,
  // is wrong or is refused, or if reading it takes longer than two seconds, logs one warning and
  // keeps the known hosts. A read that takes longer goes on; later calls do not wait for it.
  std::optional<std::vector<HostSlots>> ReadIfChanged();

 private:
  using Hosts = std::vector<HostSlots>;

  // What a thread has read. Text, because the thread sanitizer does not see how threads share an
  // exception.
  struct Reading {
    std::optional<Hosts> hosts = {};  // nullopt: the file has just been written, or is wrong
    std::string problem = {};         // empty: it is right
  };

  // Does not throw.
  static Reading Read(const std::string& path, const Hosts& known, bool local_only);
  void Warn(const std::string& text);

  const std::string path_;
  Hosts hosts_;
  const bool local_only_;
  std::future<Reading> reading_;  // invalid: no read is under way
  std::string last_warning_;
};

}  // namespace caffe2
