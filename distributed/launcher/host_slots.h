// The hosts on which a launch may start shards, and the place of each shard.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

struct HostSlots {
  std::string host;
  int slots = 1;  // the number of shards that may run there

  bool operator==(const HostSlots&) const = default;
};

// Parses "a:2,n[1-3]:4,b" (1 slot without a number). A host named again adds slots. Throws
// UsageError, which begins with `option`.
std::vector<HostSlots> ParseHosts(const std::string& option, const std::string& text);
// Reads a file with one host in a line, as mpirun, horovodrun and MXNet's launch.py do: "a", "a:2"
// or "a slots=2"; the rest of a line after '#' is a comment. Throws IoError (kNoInput) if it cannot
// be read, and UsageError, which names the line.
std::vector<HostSlots> ReadHostFile(const std::string& path);
int TotalSlots(const std::vector<HostSlots>& hosts);

// A shard's place. Its number is its index in PlaceShards' result.
struct ShardPlace {
  std::string host;
  int local_rank = 0;
  int local_size = 1;  // shards on this host
};

// Fills the hosts in their order. Throws UsageError if there are more shards than slots.
std::vector<ShardPlace> PlaceShards(const std::vector<HostSlots>& hosts, int num_shards);

// True for localhost, loopback addresses and the name of this host.
bool IsThisHost(const std::string& host);

}  // namespace caffe2
