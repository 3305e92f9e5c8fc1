// Readers of the launchers' dialects, one file each. ReadLaunchEnvironment (launch_environment.h)
// calls them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributed/launch_environment.h"

namespace caffe2 {

// Typed access to environment variables. Errors name the variable and show its value on one line.
class LaunchVariables {
 public:
  LaunchVariables(const Environment& environment, int num_shards,
                  std::optional<int> param_servers = std::nullopt)
      : environment_(environment), num_shards_(num_shards), param_servers_(param_servers) {}

  // --num_shards of this program; 0 if it is not given.
  int num_shards() const { return num_shards_; }
  // --param_servers; 0 if it is not given, nullopt if this program has no such flag.
  const std::optional<int>& param_servers() const { return param_servers_; }

  bool Has(const std::string& name) const { return environment_.count(name) != 0; }
  bool HasAny(const std::vector<std::string>& names) const;
  // "A and B are not set" for the names that are not set; empty if all are set.
  std::string Missing(const std::vector<std::string>& names) const;
  // The value; nullopt if the variable is not set. Throws UsageError if it is set and empty.
  std::optional<std::string> Text(const std::string& name) const;
  // The value; nullopt if the variable is not set. Throws UsageError unless it is a number from 0
  // to kMaxShards.
  std::optional<int> Number(const std::string& name) const;
  // The number in the first of the variables that is set; nullopt if none is.
  std::optional<int> FirstNumber(const std::vector<std::string>& names) const;
  // `NAME="value"`, for messages. The variable must be set.
  std::string Shown(const std::string& name) const;

  // Sets launch->rank and launch->size from the variables `rank` and `size`, which must be set.
  // Throws UsageError unless 0 <= rank < size.
  void ReadRank(const std::string& rank, const std::string& size, Launch* launch) const;
  // Sets launch->local_rank and local_size; 0 if the variable is not set. Call it after ReadRank.
  // If the variable `size` is set, throws UsageError unless local_rank < local_size <=
  // launch->size.
  void ReadLocalRank(const std::string& rank, const std::string& size, Launch* launch) const;
  // Sets launch->store to tcp://MASTER_ADDR:MASTER_PORT. These two variables work with every
  // launcher that does not name a host. Without MASTER_ADDR it uses `host`, without MASTER_PORT
  // `port`. If MASTER_ADDR is not set and `host` is empty, sets launch->store_hint instead.
  void ReadMaster(const std::string& host, int port, Launch* launch) const;

  static constexpr int kMaxShards = 1 << 16;

 private:
  const Environment& environment_;
  const int num_shards_;
  const std::optional<int> param_servers_;
};

// The result of one dialect's reader: a launch, or the missing variables ("torchrun: WORLD_SIZE is
// not set"), or neither if none of the dialect's variables is set.
struct DialectReading {
  std::optional<Launch> launch;
  std::string missing;
};

inline DialectReading Found(const Launch& launch) { return {launch, ""}; }
inline DialectReading Incomplete(const std::string& missing) { return {std::nullopt, missing}; }

DialectReading ReadTorchrun(const LaunchVariables& variables);
DialectReading ReadHorovod(const LaunchVariables& variables);
DialectReading ReadTfConfig(const LaunchVariables& variables);
DialectReading ReadMxnet(const LaunchVariables& variables);
DialectReading ReadOpenMpi(const LaunchVariables& variables);
DialectReading ReadPmi(const LaunchVariables& variables);
DialectReading ReadSlurm(const LaunchVariables& variables);
DialectReading ReadKubernetes(const LaunchVariables& variables);

// Parses a host and a port. Throws UsageError, which begins with `name`.
HostPort ReadHostPort(const std::string& name, const std::string& host, const std::string& port);
// A tcp:// store on one of the kStorePorts ports that begin with the endpoint's port.
StoreUrl StoreAt(const HostPort& endpoint);
// The store one port further on, for launchers that listen on the first port themselves.
StoreUrl StoreOnNextPort(const StoreUrl& store);
// A valid run_id made from the text: letters, digits, '.', '_' and '-' stay, others become '-'.
std::string RunIdOf(const std::string& text);
// The first of kStorePorts ports for the store of run `number`: 10240 + 16 x (number mod 1024),
// below the range of ephemeral ports. Runs with different numbers are unlikely to get the same
// ports.
int StorePortOf(uint64_t number);
inline constexpr int kDefaultMasterPort = 29500;

}  // namespace caffe2
