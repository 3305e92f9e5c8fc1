// The dialects of launchers, one file each; read through launch_environment.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributed/launch_environment.h"

namespace caffe2 {

// Typed access to variables. Messages name the variable and show the value on one line.
class LaunchVariables {
 public:
  LaunchVariables(const Environment& environment, int num_shards)
      : environment_(environment), num_shards_(num_shards) {}

  // The --num_shards of this program, 0 if not given.
  int num_shards() const { return num_shards_; }

  bool Has(const std::string& name) const { return environment_.count(name) != 0; }
  bool HasAny(const std::vector<std::string>& names) const;
  // "A and B are not set", of the names that are not; empty if all are.
  std::string Missing(const std::vector<std::string>& names) const;
  // Empty if it is not set. Throws UsageError if it is set and empty.
  std::optional<std::string> Text(const std::string& name) const;
  // The value if it is set and no number larger than kMaxShards, else UsageError.
  std::optional<int> Number(const std::string& name) const;
  // The number in `name`, or that of the first of `others` that is set.
  std::optional<int> FirstNumber(const std::vector<std::string>& names) const;
  // The value as messages show it.
  std::string Shown(const std::string& name) const;

  // The rank in `rank` of the size in `size`; throws UsageError unless 0 <= rank < size.
  void ReadRank(const std::string& rank, const std::string& size, Launch* launch) const;
  // The same among the processes of this host, as far as both are set.
  void ReadLocalRank(const std::string& rank, const std::string& size, Launch* launch) const;
  // tcp:// at MASTER_ADDR and MASTER_PORT, which serve every launcher that names no host itself;
  // without MASTER_ADDR at `host`, if there is one, and without MASTER_PORT at `port`.
  void ReadMaster(const std::string& host, int port, Launch* launch) const;

  static constexpr int kMaxShards = 1 << 16;

 private:
  const Environment& environment_;
  const int num_shards_;
};

// What one dialect finds: a launch; or what is missing to make one ("torchrun: WORLD_SIZE is not
// set"); or, with neither, no variable of its own.
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

// The host and the port of these two texts; throws UsageError, which begins with `name`.
HostPort ReadHostPort(const std::string& name, const std::string& host, const std::string& port);
// A store of tcp:// on one of the kStorePorts ports from the endpoint's on.
StoreUrl StoreAt(const HostPort& endpoint);
// The same without the first port, on which the launcher itself listens.
StoreUrl StoreAfter(const StoreUrl& store);
// A run_id of these words: letters, digits, '.', '_' and '-' stay, the rest becomes '-'.
std::string RunIdOf(const std::string& text);
// The first of kStorePorts ports that runs with different numbers are unlikely to share:
// 10240 + 16 x (number mod 1024), below the ports that systems give to clients.
int StorePortOf(uint64_t number);
inline constexpr int kDefaultMasterPort = 29500;

}  // namespace caffe2
