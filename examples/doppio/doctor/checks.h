// The checks of `doppio doctor`. Each looks at one part of the machine and does not throw: if it
// cannot find something out, it reports that as a finding.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "distributed/redis_store_handler.h"

namespace caffe2::doctor {

// What a check has found, one line of the report.
struct Finding {
  enum class Level { kOk, kWarning, kError };

  std::string topic;  // "memory"
  Level level = Level::kOk;
  std::string text;                 // what was found, with figures
  std::string fix;                  // what to do; empty if nothing is to be done
  ExitCode code = ExitCode::kDone;  // of the program, if the level is kError
};
using Findings = std::vector<Finding>;

Finding Ok(const std::string& topic, const std::string& text);
Finding Warning(const std::string& topic, const std::string& text, const std::string& fix);
Finding Error(const std::string& topic, const std::string& text, const std::string& fix,
              ExitCode code);

Findings CheckVersions();
// Which image files can be read: wheels and bundles have only the JPEG decoder.
Findings CheckImageFormats();
Findings CheckProcessor();
Findings CheckThreads();
Findings CheckMemory();
Findings CheckFileDescriptors();
Findings CheckClock();
Findings CheckGpus();
Findings CheckInterfaces();
// Two shards of this process add float arrays over the loopback interface. Compares every bit of
// the sums.
Findings CheckAllreduce();
// Connects to the server; reports its version, its protection and the difference of the clocks.
Findings CheckRedis(const RedisOptions& options);
// Writes a file of 32 MiB to the folder, reads it back and removes it.
Findings CheckDisk(const std::string& folder);

}  // namespace caffe2::doctor
