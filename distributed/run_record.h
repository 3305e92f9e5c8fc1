// The records that the shards of a run write to the store about themselves and the run: one
// readable line of "name=value" words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/core/cpu_cores.h"
#include "distributed/host.h"
#include "distributed/store_handler.h"

namespace caffe2 {

using RunRecord = std::map<std::string, std::string>;

// Values may be any bytes: blanks, '%', '=' and unprintable bytes are written as %XX.
std::string FormatRecord(const RunRecord& record);
// Returns nullopt if the text is not a record. The text may be anything.
std::optional<RunRecord> ParseRecord(const std::string& text);

// A shard's process and when it joined.
struct MemberRecord {
  ProcessId process;
  int64_t joined = 0;  // seconds since 1970
  CoreSet cores = {};  // the process's affinity mask

  std::string Format() const;
  static std::optional<MemberRecord> Parse(const std::string& text);
  std::string Describe() const;  // "host a, pid 17"
  int64_t AgeSeconds() const;
};

// Why a generation of a run is over. The first shard that notices writes the failure to the key
// "<generation>/failure"; all shards act on that key.
struct RunFailure {
  enum Kind {
    kStale,     // its processes are gone
    kConflict,  // its shards disagree
    kTimeout,   // some shards never joined
    kLost,      // a shard died or failed
    kRefused,   // a shard cannot take part
  };
  Kind kind = kStale;
  int64_t time_ms = 0;  // since 1970
  std::string line;
  std::string refused = {};  // of kRefused: the shard and its process

  // True if this process recorded it with RecordRefusal() for this shard.
  bool IsOwnRefusal(int shard) const;
  std::string Format() const;
  static RunFailure Parse(const std::string& text);
  // Throws RunConflict, TimeoutError or IoError with the line.
  [[noreturn]] void Throw() const;
};
std::string FailureKey(int generation);
// The recorded failure, if there is one.
std::optional<RunFailure> FindFailure(StoreHandler* store, int generation);
// Records a failure unless there is one. Returns the recorded failure.
RunFailure RecordFailure(StoreHandler* store, int generation, RunFailure::Kind kind,
                         const std::string& line);
// For a shard that cannot join, for instance because its limit of open files is too low: records
// why, so that the shards that wait for it end (kRefused). The same process may try to join again.
// Does nothing if all shards have joined, or if the shard's place is taken: by a process that
// lives, or by one of another host, which may live. If the store does not answer within two
// seconds, logs a warning: the others wait until their deadline.
void RecordRefusal(const StoreFactory& stores, const std::string& run_id, int shard,
                   const std::string& cause);
// "peer lost: shard=1 host=a pid=17 iteration=40 phase=training cause=...". `shard` is -1 and
// `member` is null if they are unknown. `heartbeat` is the shard's last heartbeat.
std::string LostLine(int shard, const MemberRecord* member, const std::string& heartbeat,
                     const std::string& cause);

// The line while the store is unreachable. It names the first shard whose process on this host is
// gone; empty if there is none. It contains only what every survivor on this host can see, so that
// it is the same on all of them.
std::string LostLineWithoutStore(const std::vector<MemberRecord>& members);
// The same for a shard that only this shard's connections blame (-1: unknown).
std::string LostLineWithoutStore(int shard, const MemberRecord* member);

// Watches a value that changes only while its owner lives.
class ChangeWatch {
 public:
  void Note(const std::string& value);
  // Restarts unchanged_for() at 0. For use after a time in which the value could not be read.
  void Restart() { last_change_ = std::chrono::steady_clock::now(); }
  // True once a noted value differed from the first one.
  bool alive() const { return alive_; }
  milliseconds unchanged_for() const;
  const std::string& value() const { return value_; }

 private:
  bool seen_ = false, alive_ = false;
  std::string value_;
  std::chrono::steady_clock::time_point last_change_ = std::chrono::steady_clock::now();
};

int64_t NowMs();  // since 1970
// The start of this process, since 1970.
int64_t ProcessStartMs();

// True if the run, to whose keys `store` has access, goes on without a shard that has ended: all
// shards had joined, the shard is expendable (RunOptions), and no failure is recorded.
bool GoesOnWithout(StoreHandler* store, int shard);

// "num_shards differs: 4 on shard 0, 5 on shard 3": the first field in which two records differ;
// empty if they are equal. The field "shard" of a record is the number of its shard.
std::string DescribeDifference(const RunRecord& theirs, const RunRecord& ours);

// "shard 3" or "shards 1, 3".
std::string ListOfShards(const std::vector<int>& shards);
// The number of shards, from 1 to 4096, of the run whose key "config" holds this text. The text may
// be anything.
int ShardsOfConfig(const std::string& text);

// The text of the key "generation": the number of the current generation, and after a blank the
// token of the run. The shard that makes the key chooses the token at random, and all generations
// keep it. So two runs of one name in two stores have different tokens.
std::string FormatGeneration(int generation, const std::string& token);
// The number in that text, from 1 to 10^9. The text may be anything; without a number it is 1.
int ParseGeneration(const std::string& text);
// The token in that text. The text may be anything; without a token of hexadecimal digits it is "".
std::string ParseRunToken(const std::string& text);

// Throws UsageError unless the run_id is 1 to 200 letters, digits, '.', '_', '-'.
void CheckRunId(const std::string& run_id);
// The first 1000 bytes of the text, with control characters replaced by blanks.
std::string OneLine(const std::string& text);

}  // namespace caffe2
