// The variables of launchers: lines "NAME=value". Names that begin with "--" are flags of the
// place.
#include <cstdlib>

#include "caffe2/core/usage_error.h"
#include "distributed/host_list.h"
#include "distributed/launch_environment.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {

FUZZ_TARGET(Launch, "launch", 5000) {
  Environment environment;
  LaunchFlags flags;
  for (const std::string& line : FuzzLines(bytes)) {
    const size_t equal = std::min(line.find('='), line.size());
    const std::string name = line.substr(0, equal);
    const std::string value = line.substr(std::min(equal + 1, line.size()));
    if (name == "--num_shards") {
      flags.num_shards = std::atoi(value.c_str());
    } else if (name == "--shard_id") {
      flags.shard_id = std::atoi(value.c_str());
    } else if (name == "--run_id") {
      flags.run_id = value;
    } else if (name == "--init_method") {
      flags.init_method = value;
    } else {
      environment[name] = value;
    }
  }
  const Launch launch = ResolveLaunch(flags, environment);
  if (launch.dialect.empty()) return;  // flags are checked later
  CHECK(launch.size >= 1 && launch.rank < launch.size) << launch.Describe();
  CHECK(launch.rank >= 0 || launch.rank == Launch::kRankByArrival) << launch.Describe();
}

FUZZ_TARGET(HostList, "host_list", 5000) {
  const std::vector<std::string> hosts = ExpandHostList("SLURM_NODELIST", std::string(bytes));
  CHECK(!hosts.empty() && hosts.size() <= 65536);
}

}  // namespace caffe2::testing
