// What the shards of a run write about themselves and their run: one line of "name=value" words,
// readable in the store.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "caffe2/core/cpu_cores.h"
#include "distributed/host.h"
#include "distributed/store_handler.h"

namespace caffe2 {

using RunRecord = std::map<std::string, std::string>;

// Values may hold any bytes; what would break the line is written as %XX.
std::string FormatRecord(const RunRecord& record);
// Empty if the text is no record. Nothing about the text is trusted.
std::optional<RunRecord> ParseRecord(const std::string& text);

// A shard's process and when it joined.
struct MemberRecord {
  ProcessId process;
  int64_t joined = 0;  // seconds since 1970
  CoreSet cores;       // of the process's affinity mask

  std::string Format() const;
  static std::optional<MemberRecord> Parse(const std::string& text);
  std::string Describe() const;  // "host a, pid 17"
  int64_t AgeSeconds() const;
};

// Why a generation of a run is over. The first shard that finds out writes it to the key
// "<generation>/failure", and all shards act on what stands there.
struct RunFailure {
  enum Kind { kStale, kConflict, kTimeout, kLost };
  Kind kind = kStale;   // processes are gone; shards disagree; some never came; one failed
  int64_t time_ms = 0;  // since 1970
  std::string line;

  std::string Format() const;
  static RunFailure Parse(const std::string& text);
  // Throws what a shard ends with: RunConflict, TimeoutError or IoError.
  [[noreturn]] void Throw() const;
};
std::string FailureKey(int generation);
// The failure that stands there, if any.
std::optional<RunFailure> FindFailure(StoreHandler* store, int generation);
// Writes a failure unless there is one; returns the one that stands.
RunFailure RecordFailure(StoreHandler* store, int generation, RunFailure::Kind kind,
                         const std::string& line);
// "peer lost: shard=1 host=a pid=17 iteration=40 phase=training cause=..."; shard -1 and a null
// member where they are not known. `heartbeat` is the shard's last one.
std::string LostLine(int shard, const MemberRecord* member, const std::string& heartbeat,
                     const std::string& cause);

// Whether a value that changes only while its owner lives has changed since it was first seen.
class ChangeWatch {
 public:
  void Note(const std::string& value);
  // True once it differed from the first value seen.
  bool alive() const { return alive_; }
  milliseconds unchanged_for() const;
  const std::string& value() const { return value_; }

 private:
  bool seen_ = false, alive_ = false;
  std::string value_;
  std::chrono::steady_clock::time_point last_change_ = std::chrono::steady_clock::now();
};

int64_t NowMs();  // since 1970
// When this process started, likewise.
int64_t ProcessStartMs();

// "num_shards differs: 4 on shard 0, 5 on shard 3": the first field in which two shards differ;
// empty if there is none. A record names its shard under "shard".
std::string DescribeDifference(const RunRecord& theirs, const RunRecord& ours);

// Throws EnforceNotMet unless the run_id is 1 to 200 letters, digits, '.', '_', '-'.
void CheckRunId(const std::string& run_id);
// One line without control characters, of a bounded length.
std::string OneLine(const std::string& text);

}  // namespace caffe2
