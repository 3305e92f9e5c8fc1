#include "distributed/run_heartbeat.h"

#include <ctime>
#include <utility>

#include "caffe2/utils/version.h"
#include "caffe2/utils/waiting_time.h"
#include "distributed/peer_sockets.h"
#include "distributed/run_blame.h"

namespace caffe2 {

namespace {

// Every fourth heartbeat renews the leases and the status.
constexpr int64_t kRenewEveryBeats = 4;
constexpr std::chrono::seconds kStragglerEvery{60};
// At least so long between two changes of the status that are published before a beat.
constexpr milliseconds kNewsEvery{50};
constexpr std::chrono::duration<double> kLongOperation{1.0};
constexpr char kSaving[] = "saving";

std::string UtcNow() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// Iterations and speeds that only go on are no news.
bool IsNews(const ShardStatus& before, const ShardStatus& now) {
  return before.state != now.state || before.epoch != now.epoch ||
         (before.iteration == 0) != (now.iteration == 0) ||
         (before.images_per_second == 0) != (now.images_per_second == 0);
}

}  // namespace

RunPlace::RunPlace(const RunOptions& run_options)
    : options(run_options),
      self{ProcessId::Self(), NowMs() / 1000, AffinityCores()},
      config(run_options.fingerprint) {
  CheckRunId(options.run_id);
  CAFFE_ENFORCE(options.num_shards > 0, "num_shards must be positive, found ", options.num_shards);
  CAFFE_ENFORCE(options.shard_id >= 0 && options.shard_id < options.num_shards,
                "shard_id must be from 0 to ", options.num_shards - 1, ", found ",
                options.shard_id);
  CAFFE_ENFORCE(options.num_expendable >= 0 && options.num_expendable < options.num_shards,
                "num_expendable must be at least 0 and less than the ", options.num_shards,
                " shards, found ", options.num_expendable);
  CAFFE_ENFORCE(options.heartbeat.count() > 0 && options.lease >= options.heartbeat * 4, "lease (",
                options.lease.count(), " ms) must be at least 4 heartbeats (",
                options.heartbeat.count(), " ms each)");
  config.emplace("version", VersionAndCommit());
  config["num_shards"] = std::to_string(options.num_shards);
  config["shard"] = std::to_string(options.shard_id);
}

RunHeartbeat::RunHeartbeat(const StoreFactory& stores, RunPlace place)
    : stores_(stores),
      place_(std::move(place)),
      collectives_before_(CurrentCollectiveProgress().started),
      ticker_([this] { Tick(); }) {
  try {
    thread_ = std::thread([this] { Loop(); });
  } catch (...) {  // it cannot be started
    Stop();
    throw;
  }
}

void RunHeartbeat::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  // A callback that ends the run calls this from the thread itself.
  if (thread_.get_id() == std::this_thread::get_id()) return;
  for (std::thread* thread : {&thread_, &ticker_}) {
    if (thread->joinable()) thread->join();
  }
}

void RunHeartbeat::SetComplete(const std::vector<MemberRecord>& members) {
  std::lock_guard<std::mutex> lock(mutex_);
  members_ = members;
}

void RunHeartbeat::UpdateStatus(const ShardStatus& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (status.state != status_.state) {
    const auto now = std::chrono::steady_clock::now();
    if (status_.state == kSaving) saved_for_ += now - state_since_;
    state_since_ = now;
  }
  if (IsNews(status_, status)) {
    is_news_ = true;
    changed_.notify_all();
  }
  status_ = status;
}

ShardTimes RunHeartbeat::Times() const {
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  const auto now = std::chrono::steady_clock::now();
  ShardTimes times;
  times.clock = seconds(now - began_);
  times.waiting = WaitedSeconds(WaitFor::kShards);
  times.input = WaitedSeconds(WaitFor::kInput);
  std::lock_guard<std::mutex> lock(mutex_);
  times.saving = seconds(saved_for_);
  if (status_.state == kSaving) times.saving += seconds(now - state_since_);
  return times;
}

bool RunHeartbeat::IsSaving() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_.state == kSaving;
}

void RunHeartbeat::Track(const std::string& key, const std::optional<std::string>& value) {
  std::lock_guard<std::mutex> lock(mutex_);
  tracked_[key] = value;
}

std::set<std::string> RunHeartbeat::TakeTracked() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::set<std::string> keys;
  for (const auto& [key, value] : std::exchange(tracked_, {})) keys.insert(key);
  return keys;
}

void RunHeartbeat::OnPeerLost(const std::function<void(const std::string&)>& callback) {
  std::string line;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    on_peer_lost_ = callback;
    line = failure_;
  }
  if (!line.empty() && callback) callback(line);
}

void RunHeartbeat::OnStopWhileBlocked(std::function<bool()> asked,
                                      std::function<void(const std::string&)> give_up) {
  std::lock_guard<std::mutex> lock(mutex_);
  asked_to_stop_ = std::move(asked);
  give_up_ = std::move(give_up);
}

void RunHeartbeat::GiveUp(const std::string& why) {
  const std::lock_guard<std::mutex> giving_up(give_up_mutex_);
  if (gave_up_) return;
  std::function<void(const std::string&)> give_up;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    give_up = give_up_;
  }
  give_up(why);
  gave_up_ = true;
}

void RunHeartbeat::CheckWait(const std::string& awaited) {
  const auto now = std::chrono::steady_clock::now();
  std::function<bool()> asked;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.empty()) throw PeerLost(failure_, -1);
    asked = asked_to_stop_;
  }
  if (!asked || !asked()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!asked_at_) asked_at_ = now;
    if (!gave_up_ && now - *asked_at_ < place_.options.connect_patience) return;
  }
  GiveUp(awaited);
  throw PeerLost("stopped while it waited for " + awaited, -1);
}

void RunHeartbeat::LookForBlockedStop(StoreHandler* store) {
  const std::vector<MemberRecord> members = Members();
  std::function<bool()> asked;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    asked = asked_to_stop_;
  }
  if (gave_up_ || members.empty() || place_.options.num_expendable > 0) return;
  if (!asked || !asked()) {
    patience_.reset();
    return;
  }
  if (!patience_) patience_.emplace(members, place_.options.shard_id);
  std::string why = patience_->LookAtProcesses();
  if (why.empty() && store != nullptr) {
    std::vector<std::string> beats;
    for (int shard = 0; shard < place_.options.num_shards; ++shard) {
      beats.push_back(store->TryGet(place_.Key("heartbeat", shard)).value_or(""));
    }
    why = patience_->LookAtHeartbeats(beats, Collective());
  }
  if (!why.empty()) GiveUp(why);
}

void RunHeartbeat::NoteFailure(const std::string& line) {
  std::function<void(const std::string&)> callback;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (confirmed_) return;
    confirmed_ = true;
    if (failure_.empty()) callback = on_peer_lost_;
    failure_ = line;
  }
  LOG(ERROR) << "run " << place_.options.run_id << ": " << line;
  if (callback) callback(line);
}

void RunHeartbeat::NoteUnconfirmed(const std::string& line) {
  std::function<void(const std::string&)> callback;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.empty()) return;
    failure_ = line;
    callback = on_peer_lost_;
  }
  LOG(WARNING) << "run " << place_.options.run_id << " ends without its store: " << line;
  if (callback) callback(line);
}

bool RunHeartbeat::confirmed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return confirmed_;
}

std::string RunHeartbeat::failure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

CollectiveProgress RunHeartbeat::Collective() const {
  CollectiveProgress progress = CurrentCollectiveProgress();
  progress.started -= collectives_before_;
  return progress;
}

std::string RunHeartbeat::Text(int64_t count) const {
  const CollectiveProgress progress = Collective();
  RunRecord record = {{"beat", std::to_string(count)},
                      {"collective", std::to_string(progress.started)},
                      {"operation", OneLine(progress.operation)}};
  Times().AddTo(&record);
  record["doing"] = CurrentActivity();
  std::lock_guard<std::mutex> lock(mutex_);
  record["iteration"] = std::to_string(status_.iteration);
  record["phase"] = status_.state;
  return FormatRecord(record);
}

std::vector<MemberRecord> RunHeartbeat::Members() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return members_;
}

bool RunHeartbeat::WasSuspended() const {
  return gap_seen_ || std::chrono::steady_clock::now() - last_tick_.load() > place_.options.lease;
}

void RunHeartbeat::Tick() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, place_.options.heartbeat, [this] { return stop_; })) {
    if (WasSuspended()) gap_seen_ = true;
    last_tick_ = std::chrono::steady_clock::now();
  }
}

bool RunHeartbeat::WasLeftBehind(StoreHandler* store) {
  if (left_behind_) return true;
  if (!WasSuspended()) return false;
  // This shard's own keys may have expired. The others keep "ready" while they run, and whoever
  // takes over records a failure first.
  const bool joined = !Members().empty();
  const std::string kept =
      joined ? place_.Key("ready") : place_.Key("member", place_.options.shard_id);
  if (store->Check({kept}) && !FindFailure(store, place_.generation)) {
    gap_seen_ = false;
    return false;
  }
  left_behind_ = true;
  NoteFailure(
      LostLine(place_.options.shard_id, &place_.self, Text(),
               MakeString("this process stood still for more than ", place_.options.lease.count(),
                          " ms, and the run went on without it")));
  return true;
}

void RunHeartbeat::Loop() {
  std::unique_ptr<StoreHandler> store;
  for (int64_t count = 1;; ++count) {
    LookForBlockedStop(nullptr);
    if (!store_reachable_) WatchWithoutStore();
    try {
      if (!store) store = stores_(place_.options.run_id);
      // Short enough to notice that the store is gone before other shards think this one is dead.
      store->SetDeadline(Deadline(place_.options.lease / 4));
      if (WasLeftBehind(store.get())) return;
      Beat(store.get(), count);
      LookForBlockedStop(store.get());
      stopped_.clear();
      if (!store_reachable_.exchange(true)) {
        LOG(INFO) << "the store of run " << place_.options.run_id << " is back";
      }
    } catch (const std::exception& e) {
      // What the other shard wrote in this time is unknown: it has not been silent.
      for (auto& [shard, heartbeat] : heartbeats_) heartbeat.Restart();
      SetWatchOfAll(std::nullopt);
      // After joining, the run does not need the store.
      if (store_reachable_.exchange(false)) {
        LOG(WARNING) << "run " << place_.options.run_id
                     << " goes on without its store: " << e.what();
      }
      WatchWithoutStore();
    }
    if (!WaitForBeat(store.get())) return;
  }
}

bool RunHeartbeat::WaitForBeat(StoreHandler* store) {
  const auto due = std::chrono::steady_clock::now() + place_.options.heartbeat;
  const bool publishes = store != nullptr && store_reachable_;
  std::unique_lock<std::mutex> lock(mutex_);
  while (changed_.wait_until(lock, due, [&] { return stop_ || (publishes && is_news_); })) {
    if (stop_) return false;
    if (std::chrono::steady_clock::now() >= due) return true;  // news without end
    lock.unlock();
    try {
      store->SetDeadline(Deadline(place_.options.lease / 4));
      if (WasSuspended()) return true;  // the beat finds out whether the run went on without it
      PublishStatus(store);
    } catch (const std::exception&) {
      return true;  // the beat has the same trouble, and tells of it
    }
    lock.lock();
    if (changed_.wait_for(lock, kNewsEvery, [this] { return stop_; })) return false;
  }
  return true;
}

void RunHeartbeat::Beat(StoreHandler* store, int64_t count) {
  const std::vector<MemberRecord> members = Members();
  const bool complete = !members.empty();
  if (complete) {
    TellUntold(store);
    for (const int shard : Watched()) Watch(store, shard, members[shard]);
    WatchAll(store);
  }
  // Nothing more is written if the process stood still in the midst of this: see WasLeftBehind().
  if (WasSuspended()) return;
  store->Put(place_.Key("heartbeat", place_.options.shard_id), Text(count), place_.options.lease);
  if (count % kRenewEveryBeats == 1) {
    if (WasSuspended()) return;
    Republish(store, complete);
    if (WasSuspended()) return;
    if (complete && place_.options.shard_id == 0) LookForStraggler(store, members);
    if (WasSuspended()) return;
    PublishStatus(store);
    TrackedKeys tracked;
    {
      // Not before Republish(), which may have waited for a store that lost even the newest keys.
      std::lock_guard<std::mutex> lock(mutex_);
      tracked = tracked_;
    }
    for (const auto& [key, value] : tracked) {
      if (WasSuspended()) return;
      if (keys_lost_ && value) store->SetIfAbsent(key, *value);
      store->Expire(key, place_.key_lifetime());
    }
    keys_lost_ = false;
  }
  if (!complete) return;  // the joining thread looks for failures itself
  if (const auto failure = FindFailure(store, place_.generation)) NoteFailure(failure->line);
}

void RunHeartbeat::Republish(StoreHandler* store, bool complete) {
  const std::string own = place_.Key("member", place_.options.shard_id);
  const std::string config = place_.Key("config"), ready = place_.Key("ready");
  if (store->SetIfAbsent(own, place_.self.Format())) {
    keys_lost_ = true;
    LOG(WARNING) << "run " << place_.options.run_id << ": the store had lost " << own;
  }
  store->Expire(own, place_.options.lease);
  store->SetIfAbsent(config, FormatRecord(place_.config));
  store->SetIfAbsent("generation", FormatGeneration(place_.generation, place_.token));
  if (complete) store->SetIfAbsent(ready, place_.ready());
  for (const std::string& key : {config, ready, std::string("generation")}) {
    store->Expire(key, place_.key_lifetime());
  }
}

void RunHeartbeat::PublishStatus(StoreHandler* store) {
  ShardStatus status;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    status = status_;
    is_news_ = false;
  }
  std::map<std::string, std::string> fields = status.more;
  fields.insert({{"host", place_.self.process.host},
                 {"pid", std::to_string(place_.self.process.pid)},
                 {"devices", place_.options.devices},
                 {"state", status.state},
                 {"epoch", std::to_string(status.epoch)},
                 {"iteration", std::to_string(status.iteration)},
                 {"images_per_second", MakeString(status.images_per_second)},
                 {"loss", MakeString(status.loss)},
                 {"time", UtcNow()}});
  if (place_.options.shard_id == 0) fields["straggler"] = straggler_;
  if (const int64_t strangers = StrangersDropped()) fields["strangers"] = std::to_string(strangers);
  store->SetFields(MakeString("status/", place_.options.shard_id), fields, place_.key_lifetime());
}

void RunHeartbeat::LookForStraggler(StoreHandler* store, const std::vector<MemberRecord>& members) {
  if (members.size() < 2 || place_.options.num_expendable > 0) return;
  std::vector<std::string> heartbeats = {Text()};
  for (int shard = 1; shard < place_.options.num_shards; ++shard) {
    heartbeats.push_back(store->TryGet(place_.Key("heartbeat", shard)).value_or(""));
  }
  const Straggler straggler = straggler_watch_.Note(heartbeats);
  straggler_ = "none";
  if (straggler.shard < 0) return;
  straggler_ = straggler.Describe(
      MakeString("shard ", straggler.shard, " (", members.at(straggler.shard).Describe(), ")"));
  const auto now = std::chrono::steady_clock::now();
  if (straggler_logged_ && now - *straggler_logged_ < kStragglerEvery) return;
  straggler_logged_ = now;
  LOG(WARNING) << "run " << place_.options.run_id << ": " << straggler_;
}

void RunHeartbeat::WatchWithoutStore() {
  if (others_done_) return;
  const std::vector<MemberRecord> members = Members();
  // A process that is gone may be one that may go, and its connections show it.
  if (place_.options.num_expendable > 0) return WatchStopped(members);
  if (IsSaving()) {
    for (size_t shard = 0; shard < members.size(); ++shard) {
      const ProcessId& process = members[shard].process;
      if (process.on_this_host() && !process.IsAlive()) {
        gone_while_saving_.insert(static_cast<int>(shard));
      }
    }
    return;
  }
  const std::string line = LostLineWithoutStore(members);
  if (!line.empty()) NoteUnconfirmed(line);
}

void RunHeartbeat::WatchStopped(const std::vector<MemberRecord>& members) {
  const RunOptions& options = place_.options;
  const auto now = std::chrono::steady_clock::now();
  // This process stood still, too, or the store was there in between.
  if (now - looked_for_stopped_ > options.lease) stopped_.clear();
  looked_for_stopped_ = now;
  const bool expendable = options.shard_id < options.num_expendable;
  for (int shard = expendable ? options.num_expendable : 0;
       shard < static_cast<int>(members.size()); ++shard) {
    const MemberRecord& member = members[static_cast<size_t>(shard)];
    if (shard == options.shard_id || lost_.count(shard) > 0) continue;
    if (!member.process.on_this_host() || !member.process.IsStopped()) {
      stopped_.erase(shard);
      continue;
    }
    if (now - stopped_.emplace(shard, now).first->second <= place_.silence_limit()) continue;
    const std::string line =
        LostLine(shard, &member, "", "its process is stopped (the store is unreachable, too)");
    if (shard >= options.num_expendable) return NoteUnconfirmed(line);
    lost_.insert(shard);
    untold_[shard] = line;
    if (options.on_expendable_lost) options.on_expendable_lost(shard, line);
  }
}

// The shards that are not expendable watch each other in a ring, and all expendable ones; each
// expendable shard watches one that is not.
std::vector<int> RunHeartbeat::Watched() const {
  const RunOptions& options = place_.options;
  const int first = options.num_expendable, needed = options.num_shards - first;
  if (options.shard_id < first) return {first + options.shard_id % needed};
  std::vector<int> shards;
  for (int shard = 0; shard < first; ++shard) {
    if (lost_.count(shard) == 0) shards.push_back(shard);
  }
  if (needed > 1) shards.push_back(first + (options.shard_id - first + 1) % needed);
  return shards;
}

void RunHeartbeat::WatchAll(StoreHandler* store) {
  if (CurrentWaitSeconds(WaitFor::kShards) < kLongOperation.count()) {
    return SetWatchOfAll(std::nullopt);
  }
  HeartbeatWatch watch = WatchOfAll();
  for (int shard = place_.options.num_expendable; shard < place_.options.num_shards; ++shard) {
    const auto beat = store->TryGet(place_.Key("heartbeat", shard));
    if (beat) watch.heartbeats[static_cast<size_t>(shard)].Note(*beat);
  }
  SetWatchOfAll(std::move(watch));
}

void RunHeartbeat::SetWatchOfAll(std::optional<HeartbeatWatch> watch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watch_of_all_ = std::move(watch);
}

HeartbeatWatch RunHeartbeat::WatchOfAll() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return watch_of_all_ ? *watch_of_all_ : HeartbeatWatch(place_.options.num_shards);
}

void RunHeartbeat::NoteExpendableLost(StoreHandler* store, int shard, const std::string& line) {
  lost_.insert(shard);
  const RunOptions& options = place_.options;
  store->Put(place_.Key("lost", shard), line, place_.key_lifetime());
  if (options.on_expendable_lost) options.on_expendable_lost(shard, line);
  EndForLost(store, shard);
}

void RunHeartbeat::TellUntold(StoreHandler* store) {
  while (!untold_.empty()) {
    const auto& [shard, line] = *untold_.begin();
    store->Put(place_.Key("lost", shard), line, place_.key_lifetime());
    EndForLost(store, shard);
    untold_.erase(untold_.begin());
  }
}

void RunHeartbeat::EndForLost(StoreHandler* store, int shard) {
  const RunOptions& options = place_.options;
  if (options.shard_id != options.num_expendable) return;
  // One shard ends the run for the lost one, so that the last to leave can remove all keys.
  store->Remove(place_.Key("member", shard));
  store->Remove(MakeString("status/", shard));
  store->Add(place_.Key("ended"), 1);
  store->Expire(place_.Key("ended"), place_.key_lifetime());
}

void RunHeartbeat::Watch(StoreHandler* store, int shard, const MemberRecord& next) {
  if (others_done_ || left_.count(shard) > 0) return;
  const bool saves = IsSaving();
  if (!saves) gone_while_saving_.clear();
  ChangeWatch& heartbeat = heartbeats_[shard];
  const bool expendable = shard < place_.options.num_expendable;
  const bool gone = next.process.on_this_host() && !next.process.IsAlive();
  const auto beat = store->TryGet(place_.Key("heartbeat", shard));
  if (beat) heartbeat.Note(*beat);
  const bool silent = heartbeat.unchanged_for() > place_.silence_limit();
  // A shard that leaves has done its part. The run does not need it any more. Noted as soon as its
  // heartbeat is missing: the key "left" expires, perhaps before this shard leaves.
  if ((gone || silent || !beat) && !expendable && store->Check({place_.Key("left", shard)})) {
    left_.insert(shard);
    return;
  }
  if (!gone && !silent) return;
  // Without the store it could not say that it left.
  if (saves && gone_while_saving_.count(shard) > 0) return;
  // A shard that has left the run has removed its record.
  if (!store->Check({place_.Key("member", shard)}) && !silent) {
    if (expendable) lost_.insert(shard);
    return;
  }
  const std::string cause =
      gone ? "its process is gone"
           : MakeString("no sign of life for ", heartbeat.unchanged_for().count(), " ms");
  const std::string line = LostLine(shard, &next, heartbeat.value(), cause);
  if (expendable) return NoteExpendableLost(store, shard, line);
  NoteFailure(RecordFailure(store, place_.generation, RunFailure::kLost, line).line);
}

}  // namespace caffe2
