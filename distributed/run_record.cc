#include "distributed/run_record.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "distributed/percent_code.h"
#include "distributed/run_membership.h"

namespace caffe2 {

namespace {

constexpr size_t kMaxRecordBytes = 65536;
constexpr size_t kMaxLineBytes = 1000;
constexpr size_t kMaxRunId = 200;
constexpr milliseconds kFailureLifetime{3600000};  // long enough for a person to see it
const char* const kKindNames[] = {"stale", "conflict", "timeout", "lost", "refused"};

bool IsPlain(unsigned char c) { return c > ' ' && c < 127 && c != '%' && c != '='; }

std::string Escape(const std::string& text) {
  static const char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsPlain(byte)) {
      escaped += c;
    } else {
      escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return escaped;
}

std::optional<std::string> Unescape(const std::string& text) {
  for (const char c : text) {
    if (c != '%' && !IsPlain(static_cast<unsigned char>(c))) return std::nullopt;
  }
  return PercentDecode(text);
}

RunFailure RecordOnce(StoreHandler* store, int generation, const RunFailure& own) {
  const std::string key = FailureKey(generation);
  if (!store->SetIfAbsent(key, own.Format())) return FindFailure(store, generation).value_or(own);
  store->Expire(key, kFailureLifetime);
  return own;
}

// A shard and this process.
std::string OwnIdentity(int shard) {
  const ProcessId self = ProcessId::Self();
  return FormatRecord({{"shard", std::to_string(shard)},
                       {"host", self.host},
                       {"boot", self.boot_id},
                       {"pid", std::to_string(self.pid)},
                       {"pid_namespace", self.pid_namespace},
                       {"start", std::to_string(self.start_time)}});
}

std::string Shown(const std::string& value) { return value.empty() ? "nothing" : OneLine(value); }

}  // namespace

std::string FormatRecord(const RunRecord& record) {
  std::string text;
  for (const auto& [name, value] : record) {
    text += (text.empty() ? "" : " ") + Escape(name) + "=" + Escape(value);
  }
  return text;
}

std::optional<RunRecord> ParseRecord(const std::string& text) {
  if (text.size() > kMaxRecordBytes) return std::nullopt;
  RunRecord record;
  std::istringstream words(text);
  std::string word;
  while (std::getline(words, word, ' ')) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return std::nullopt;
    const auto name = Unescape(word.substr(0, equals)), value = Unescape(word.substr(equals + 1));
    if (!name || !value || !record.emplace(*name, *value).second) return std::nullopt;
  }
  if (record.empty()) return std::nullopt;
  return record;
}

std::string MemberRecord::Format() const {
  return FormatRecord({{"host", process.host},
                       {"boot", process.boot_id},
                       {"pid", std::to_string(process.pid)},
                       {"pid_namespace", process.pid_namespace},
                       {"cores", FormatCores(cores)},
                       {"start", std::to_string(process.start_time)},
                       {"joined", std::to_string(joined)}});
}

std::optional<MemberRecord> MemberRecord::Parse(const std::string& text) {
  auto record = ParseRecord(text);
  if (!record || !record->count("host") || !record->count("pid")) return std::nullopt;
  MemberRecord member;
  member.process.host = OneLine((*record)["host"]);
  member.process.boot_id = (*record)["boot"];
  member.process.pid_namespace = (*record)["pid_namespace"];
  member.cores = ParseCores((*record)["cores"]);
  member.process.pid = std::strtoll((*record)["pid"].c_str(), nullptr, 10);
  member.process.start_time = std::strtoll((*record)["start"].c_str(), nullptr, 10);
  // Not before 1970: the age is a difference, which must not overflow.
  member.joined = std::max(0LL, std::strtoll((*record)["joined"].c_str(), nullptr, 10));
  return member;
}

std::string MemberRecord::Describe() const {
  return MakeString("host ", process.host, ", pid ", process.pid);
}

int64_t MemberRecord::AgeSeconds() const { return std::max<int64_t>(0, NowMs() / 1000 - joined); }

int64_t NowMs() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

int64_t ProcessStartMs() {
  // Read first: on a busy machine time passes between the two readings. The result is then too
  // early rather than too late. With a start that is too late, a failure of this try would look
  // like a failure of the previous try.
  const int64_t now = NowMs();
  double uptime = 0;
  std::ifstream("/proc/uptime") >> uptime;
  const double started = static_cast<double>(ProcessId::Self().start_time) / sysconf(_SC_CLK_TCK);
  return now - static_cast<int64_t>((uptime - started) * 1000);
}

bool RunFailure::IsOwnRefusal(int shard) const {
  return kind == kRefused && refused == OwnIdentity(shard);
}

std::string RunFailure::Format() const {
  RunRecord record = {
      {"kind", kKindNames[kind]}, {"time_ms", std::to_string(time_ms)}, {"line", line}};
  if (!refused.empty()) record["refused"] = refused;
  return FormatRecord(record);
}

RunFailure RunFailure::Parse(const std::string& text) {
  RunFailure failure;
  failure.line = "unreadable failure record";
  auto record = ParseRecord(text);
  if (!record) return failure;
  for (const Kind kind : {kStale, kConflict, kTimeout, kLost, kRefused}) {
    if ((*record)["kind"] == kKindNames[kind]) failure.kind = kind;
  }
  failure.time_ms = std::strtoll((*record)["time_ms"].c_str(), nullptr, 10);
  failure.line = OneLine((*record)["line"]);
  failure.refused = (*record)["refused"];
  return failure;
}

void RunFailure::Throw() const {
  if (kind == kConflict) throw RunConflict(ExitCode::kDisagreement, line);
  if (kind == kTimeout) throw TimeoutError(line);
  ThrowIoError(ExitCode::kPeerLost, line);
}

std::string FailureKey(int generation) { return MakeString(generation, "/failure"); }

std::optional<RunFailure> FindFailure(StoreHandler* store, int generation) {
  const auto text = store->TryGet(FailureKey(generation));
  if (!text) return std::nullopt;
  return RunFailure::Parse(*text);
}

RunFailure RecordFailure(StoreHandler* store, int generation, RunFailure::Kind kind,
                         const std::string& line) {
  return RecordOnce(store, generation, {kind, NowMs(), OneLine(line)});
}

namespace {

// False if the key holds the record of a process that is known to be dead, or nothing.
bool IsHeld(StoreHandler* store, const std::string& key) {
  const auto text = store->TryGet(key);
  const auto member = text ? MemberRecord::Parse(*text) : std::nullopt;
  return member && (!member->process.on_this_host() || member->process.IsAlive());
}

}  // namespace

void RecordRefusal(const StoreFactory& stores, const std::string& run_id, int shard,
                   const std::string& cause) {
  constexpr milliseconds kWait{2000};
  try {
    const auto store = OpenStore(stores, run_id, Deadline(kWait), nullptr);
    store->SetDeadline(Deadline(kWait));
    const ProcessId self = ProcessId::Self();
    const std::string line = MakeString("run ", run_id, ": shard ", shard, " (host ", self.host,
                                        ", pid ", self.pid, ") cannot take part: ", cause);
    const RunFailure own{RunFailure::kRefused, NowMs(), OneLine(line), OwnIdentity(shard)};
    int generation = ParseGeneration(store->TryGet("generation").value_or(""));
    // Others may close the generation of a dead process in this moment: then they wait in the next.
    for (;; ++generation) {
      if (FindFailure(store.get(), generation)) continue;
      if (store->Check({MakeString(generation, "/ready")})) return;
      if (IsHeld(store.get(), MakeString(generation, "/member/", shard))) return;
      if (RecordOnce(store.get(), generation, own).Format() == own.Format()) return;
    }
  } catch (const std::exception& error) {
    LOG(WARNING) << "run " << run_id << ": cannot tell the other shards: " << error.what();
  }
}

std::string LostLine(int shard, const MemberRecord* member, const std::string& heartbeat,
                     const std::string& cause) {
  RunRecord beat = ParseRecord(heartbeat).value_or(RunRecord());
  auto known = [](const std::string& text) { return text.empty() ? "unknown" : OneLine(text); };
  return MakeString("peer lost: shard=", shard < 0 ? "unknown" : std::to_string(shard),
                    " host=", member ? member->process.host : "unknown",
                    " pid=", member ? std::to_string(member->process.pid) : "unknown",
                    " iteration=", known(beat["iteration"]), " phase=", known(beat["phase"]),
                    " cause=", OneLine(cause));
}

std::string LostLineWithoutStore(const std::vector<MemberRecord>& members) {
  for (size_t shard = 0; shard < members.size(); ++shard) {
    const ProcessId& process = members[shard].process;
    if (!process.on_this_host() || process.IsAlive()) continue;
    return LostLine(static_cast<int>(shard), &members[shard], "",
                    "its process is gone (the store is unreachable, too)");
  }
  return "";
}

std::string LostLineWithoutStore(int shard, const MemberRecord* member) {
  return LostLine(shard, member, "", "it does not answer (the store is unreachable, too)");
}

void ChangeWatch::Note(const std::string& value) {
  if (seen_ && value == value_) return;
  alive_ = seen_;
  seen_ = true;
  value_ = value;
  last_change_ = std::chrono::steady_clock::now();
}

milliseconds ChangeWatch::unchanged_for() const {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - last_change_);
}

bool GoesOnWithout(StoreHandler* store, int shard) {
  const int generation = ParseGeneration(store->TryGet("generation").value_or(""));
  const auto ready = store->TryGet(MakeString(generation, "/ready"));
  // The number of shards that may be lost, the first ones; others may have written anything.
  const long expendable = ready ? std::strtol(ready->c_str(), nullptr, 10) : 0;
  return shard < expendable && !FindFailure(store, generation);
}

std::string DescribeDifference(const RunRecord& theirs, const RunRecord& ours) {
  auto value_of = [](const RunRecord& record, const std::string& name) {
    auto it = record.find(name);
    return it == record.end() ? std::string() : it->second;
  };
  RunRecord all = theirs;
  all.insert(ours.begin(), ours.end());
  // These come first, because other differences often follow from them.
  std::vector<std::string> names = {"num_shards", "version"};
  for (const auto& [name, value] : all) {
    if (name != "shard" && name != "num_shards" && name != "version") names.push_back(name);
  }
  for (const std::string& name : names) {
    const std::string a = value_of(theirs, name), b = value_of(ours, name);
    if (a == b) continue;
    return MakeString(name, " differs: ", Shown(a), " on shard ", value_of(theirs, "shard"), ", ",
                      Shown(b), " on shard ", value_of(ours, "shard"));
  }
  return {};
}

std::string ListOfShards(const std::vector<int>& shards) {
  std::vector<std::string> names;
  for (const int shard : shards) names.push_back(std::to_string(shard));
  return (shards.size() == 1 ? "shard " : "shards ") + JoinKeys(names);
}

int ShardsOfConfig(const std::string& text) {
  constexpr long kMax = 4096;
  const auto record = ParseRecord(text);
  if (!record || record->count("num_shards") == 0) return 1;
  const long shards = std::strtol(record->at("num_shards").c_str(), nullptr, 10);
  return static_cast<int>(std::clamp(shards, 1L, kMax));
}

int ParseGeneration(const std::string& text) {
  constexpr long kMax = 1'000'000'000;
  return static_cast<int>(std::clamp(std::strtol(text.c_str(), nullptr, 10), 1L, kMax));
}

std::string FormatGeneration(int generation, const std::string& token) {
  return token.empty() ? std::to_string(generation) : MakeString(generation, " ", token);
}

std::string ParseRunToken(const std::string& text) {
  constexpr size_t kMax = 64;
  const size_t blank = text.find(' ');
  if (blank == std::string::npos) return "";
  const std::string token = text.substr(blank + 1);
  const bool valid =
      token.size() <= kMax && token.find_first_not_of("0123456789abcdef") == std::string::npos;
  return valid ? token : "";
}

void CheckRunId(const std::string& run_id) {
  CheckUsage(!run_id.empty(), "the run_id is empty: a run with several shards needs one");
  CheckUsage(run_id.size() <= kMaxRunId, "the run_id has ", run_id.size(),
             " characters, it may have ", kMaxRunId);
  for (const char c : run_id) {
    const bool allowed =
        std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    CheckUsage(allowed && static_cast<unsigned char>(c) < 128, "run_id \"", OneLine(run_id),
               "\" may contain only letters, digits, '.', '_' and '-'");
  }
}

std::string OneLine(const std::string& text) {
  std::string line;
  for (const char c : text.substr(0, kMaxLineBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < ' ' || byte == 127 ? ' ' : c;
  }
  return line;
}

}  // namespace caffe2
