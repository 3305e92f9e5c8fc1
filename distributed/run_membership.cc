#include "distributed/run_membership.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "distributed/collective.h"
#include "distributed/core_share.h"
#include "distributed/random_hex.h"
#include "distributed/run_blame.h"
#include "distributed/run_end.h"
#include "distributed/run_heartbeat.h"
#include "distributed/run_peers.h"
#include "distributed/run_record.h"
#include "distributed/tracking_store.h"

namespace caffe2 {

namespace {

using Clock = std::chrono::steady_clock;

constexpr milliseconds kConfirmWait{500}, kCheckMembersEvery{1000};
// The heartbeat of a live shard changes within three beats or, on an overloaded machine, within
// this time.
constexpr milliseconds kShortestSilence{1500};
constexpr char kTryBefore[] = "; the try before: ";
constexpr int64_t kStartTimeError = 100;  // ms; the kernel counts in ticks
constexpr int64_t kClockError = 60000;    // ms between the clocks of two hosts
constexpr int kMaxFailedGenerations = 1000;
constexpr int kTokenBytes = 8;

class Membership final : public RunMembership {
 public:
  Membership(const StoreFactory& stores, const RunOptions& options)
      : stores_(stores), place_(options) {}

  ~Membership() override {
    if (heartbeat_ && !ended_)
      ReportFailure("the process ended without leaving the run", false, -1);
  }

  void Join();

  std::unique_ptr<StoreHandler> MakeStore() override {
    return std::make_unique<TrackingStore>(stores_(place_.options.run_id), place_,
                                           heartbeat_.get());
  }
  void UpdateStatus(const ShardStatus& status) override { heartbeat_->UpdateStatus(status); }
  void OnPeerLost(std::function<void(const std::string&)> callback) override {
    heartbeat_->OnPeerLost(callback);
  }
  void OnStopWhileBlocked(std::function<bool()> asked,
                          std::function<void(const std::string&)> give_up) override {
    heartbeat_->OnStopWhileBlocked(std::move(asked), std::move(give_up));
  }
  void NoteOthersDone() override { heartbeat_->NoteOthersDone(); }
  std::string Failure() const override { return heartbeat_->failure(); }
  std::string ReportFailure(const std::string& cause, bool peer_error, int suspect) override;
  std::string Leave() override;
  int generation() const override { return place_.generation; }
  const std::string& token() const override { return place_.token; }
  const RunOptions& options() const override { return place_.options; }
  int CoreShare() const override {
    return caffe2::CoreShare(peers_.Members(), options().shard_id, CoreQuota());
  }
  std::string DescribeShard(int shard) const override { return peers_.Describe(shard); }

 private:
  bool FindGeneration();
  bool Enter();
  bool IsBeingRemoved(int generation);
  void RefuseIfInUse();
  // Returns false if the generation belongs to dead processes; it is closed then.
  bool CheckConfig();
  bool IsDeserted(int num_shards);
  bool WaitForOthers(const Deadline& deadline);
  std::string TryBefore() const {
    return earlier_failure_.empty() ? "" : kTryBefore + earlier_failure_;
  }
  std::optional<RunFailure> FindDeadMember();
  std::optional<RunFailure> FindEarlyLeaver(const std::vector<int>& missing);  // sorted
  void Withdraw();
  bool HasMembers();
  void CallWhileWaiting();
  RunFailure CloseAsStale(int shard);
  bool IsExpendable(int shard) const { return shard < options().num_expendable; }
  Culprit FindCulprit(int suspect);
  // Notes a failure that cannot be recorded, because the store is unreachable.
  void NoteWithoutStore(const std::string& cause, bool peer_error, int suspect);
  // Lets the store confirm or replace a failure that this shard noted without it, for as long as
  // other shards may need to notice the failure. Returns false if nothing may be written any more:
  // the store cannot be reached, or the run went on without this shard.
  bool ConfirmFailure();
  // Ends this shard's part in a run that has failed. `ends_run` as in RunEnd::EndInStore().
  void EndFailed(bool ends_run);

  const StoreFactory stores_;
  RunPlace place_;
  std::unique_ptr<StoreHandler> store_;
  std::unique_ptr<RunHeartbeat> heartbeat_;  // null while this shard has no place
  std::unique_ptr<RunEnd> end_;              // exists with the heartbeat
  RunPeers peers_{place_};                   // constant once all have joined
  std::string earlier_failure_;              // the line of the previous generation
  std::mutex end_mutex_;                     // Leave() and ReportFailure() may race
  bool ended_ = false;
};

void Membership::Join() {
  const Deadline deadline(options().join_timeout);
  store_ = OpenStore(stores_, options().run_id, deadline, options().while_waiting);
  store_->SetDeadline(deadline);
  while (true) {
    if (FindGeneration() && Enter() && WaitForOthers(deadline)) break;
    if (deadline.expired()) {
      throw TimeoutError(MakeString("run ", options().run_id, ": could not join within ",
                                    options().join_timeout.count(), " ms"));
    }
    std::this_thread::sleep_for(kFirstPoll);
  }
  heartbeat_->SetComplete(peers_.Members());
  store_->SetDeadline(std::nullopt);
  LOG(INFO) << "run " << options().run_id << ": all " << options().num_shards
            << " shards joined (generation " << generation() << ")";
}

// The key "generation" is a hint: the current generation is the first from there on that has not
// failed. Returns false if the keys of an old generation are being removed; the caller tries again.
bool Membership::FindGeneration() {
  std::string text = FormatGeneration(1, RandomHex(kTokenBytes));
  if (const auto found = store_->TryGet("generation")) {
    text = *found;
  } else if (!store_->SetIfAbsent("generation", text)) {
    text = store_->TryGet("generation").value_or("");
  }
  const int first = ParseGeneration(text);
  place_.token = ParseRunToken(text);
  place_.generation = first;
  while (const auto failure = FindFailure(store_.get(), place_.generation)) {
    // A process that started before the shards were found to disagree, or one of them refused, is
    // one of those shards. A process that started afterwards is a new try, as is the refused one
    // that tries again. A time in the future comes from a wrong clock and tells nothing.
    if ((failure->kind == RunFailure::kConflict || failure->kind == RunFailure::kRefused) &&
        !failure->IsOwnRefusal(options().shard_id) &&
        failure->time_ms >= ProcessStartMs() - kStartTimeError &&
        failure->time_ms <= NowMs() + kClockError) {
      failure->Throw();
    }
    earlier_failure_ = failure->line.substr(0, failure->line.find(kTryBefore));
    if (++place_.generation - first > kMaxFailedGenerations) {
      ThrowIoError(ExitCode::kStoreUnreachable, "run ", options().run_id, ": more than ",
                   kMaxFailedGenerations, " generations after ", first,
                   " have failed, says the store: it does not keep what is written to it");
    }
  }
  if (place_.generation != first) {
    store_->Put("generation", FormatGeneration(place_.generation, place_.token));
    // A process that removes keys announces it before it reads the hint. So one of the two sees the
    // other, and the new hint is not removed unnoticed.
    for (int old = first; old < place_.generation; ++old) {
      if (IsBeingRemoved(old)) return false;
    }
  }
  store_->Expire("generation", place_.key_lifetime());
  peers_.Clear(options().num_shards);
  return true;
}

RunFailure Membership::CloseAsStale(int shard) {
  LOG(INFO) << "run " << options().run_id << ": taking over from " << DescribeShard(shard)
            << ", which is gone";
  return RecordFailure(store_.get(), generation(), RunFailure::kStale,
                       DescribeShard(shard) + " is gone");
}

// Throws RunConflict if a live process holds the run, or this shard's place in it. Closes a
// generation of dead processes.
void Membership::RefuseIfInUse() {
  const bool complete = store_->Check({place_.Key("ready")});
  for (int shard = 0; shard < options().num_shards; ++shard) {
    peers_.Fetch(store_.get(), shard);
    if (peers_.Find(shard) == nullptr) continue;
    const bool may_be_joining = !complete && shard != options().shard_id;
    const bool live = may_be_joining ? peers_.LifeOf(shard) != RunPeers::Life::kDead
                                     : peers_.IsLive(store_.get(), shard);
    if (!live && !complete) CloseAsStale(shard);
    if (!live || may_be_joining) continue;
    const MemberRecord& holder = *peers_.Find(shard);
    if (complete) {
      throw RunConflict(ExitCode::kNotPermitted,
                        MakeString("run_id ", options().run_id, " is in use: shard ", shard, " on ",
                                   holder.Describe(), " has held it for ", holder.AgeSeconds(),
                                   " s; use another run_id or end that run"));
    }
    throw RunConflict(
        ExitCode::kNotPermitted,
        MakeString("shard ", shard, " of run ", options().run_id, " is already held by ",
                   holder.Describe(), ", since ", holder.AgeSeconds(), " s"));
  }
  if (complete) CloseAsStale(options().shard_id);
}

// Throws RunConflict if the run has other settings.
bool Membership::CheckConfig() {
  const std::string key = place_.Key("config");
  if (store_->SetIfAbsent(key, FormatRecord(place_.config))) {
    store_->Expire(key, place_.key_lifetime());
    return true;
  }
  const std::string text = store_->Get(key);
  const auto theirs = ParseRecord(text);
  if (!theirs)
    throw IoError("store key " + key +
                  " does not hold the record of a run; do all shards use the same --secret_file?");
  const std::string difference = DescribeDifference(*theirs, place_.config);
  if (difference.empty()) return true;
  if (IsDeserted(ShardsOfConfig(text))) {
    RecordFailure(store_.get(), generation(), RunFailure::kStale, "its shards are gone");
    return false;
  }
  RecordFailure(store_.get(), generation(), RunFailure::kConflict,
                MakeString("the shards of run ", options().run_id, " disagree: ", difference))
      .Throw();
}

// True if none of the shards lives that the generation has. They may be more than this run's, so
// RefuseIfInUse() has not seen them all. A process that has just published the settings publishes
// its record in a moment.
bool Membership::IsDeserted(int num_shards) {
  peers_.Extend(num_shards);
  for (const Deadline deadline(options().lease);; std::this_thread::sleep_for(kSlowestPoll)) {
    bool any = false;
    for (int shard = 0; shard < num_shards; ++shard) {
      if (peers_.IsLive(store_.get(), shard)) return false;
      any |= peers_.Find(shard) != nullptr;
    }
    if (any || deadline.expired()) return true;
    if (FindFailure(store_.get(), generation())) return false;
  }
}

// True if this generation is just ending: its keys will be removed in a moment. If the process that
// announced the end has died, the generation counts as failed.
bool Membership::IsBeingRemoved(int generation) {
  const auto text = store_->TryGet(MakeString(generation, "/leaving"));
  if (!text) return false;
  const auto last = MemberRecord::Parse(*text);
  const bool gone = !last || (last->process.on_this_host() && !last->process.IsAlive());
  if (gone || milliseconds(last->AgeSeconds() * 1000) > options().exit_timeout + options().lease) {
    RecordFailure(store_.get(), generation, RunFailure::kStale, "a run that was ending");
    return false;
  }
  std::this_thread::sleep_for(kSlowestPoll);
  return true;
}

// Returns true if this shard now has its place in the generation; false if the caller must try
// again.
bool Membership::Enter() {
  if (IsBeingRemoved(generation())) return false;
  if (FindFailure(store_.get(), generation())) return false;
  RefuseIfInUse();
  if (FindFailure(store_.get(), generation())) return false;
  if (!CheckConfig()) return false;
  const std::string key = place_.Key("member", options().shard_id);
  if (!store_->SetIfAbsent(key, place_.self.Format())) return false;
  store_->Expire(key, options().lease);
  peers_.Set(options().shard_id, place_.self);
  heartbeat_ = std::make_unique<RunHeartbeat>(stores_, place_);
  end_ = std::make_unique<RunEnd>(store_.get(), place_, heartbeat_.get());
  return true;
}

std::optional<RunFailure> Membership::FindDeadMember() {
  for (int shard = 0; shard < options().num_shards; ++shard) {
    if (shard == options().shard_id || peers_.Find(shard) == nullptr) continue;
    if (const auto lost = store_->TryGet(place_.Key("lost", shard))) {
      return RecordFailure(store_.get(), generation(), RunFailure::kLost, *lost);
    }
    peers_.Fetch(store_.get(), shard);
    const bool joined = peers_.Find(shard) != nullptr;
    if (joined && peers_.LifeOf(shard) == RunPeers::Life::kDead) return CloseAsStale(shard);
  }
  return std::nullopt;
}

// Another shard found the records of all of them: an expendable shard without a record has joined,
// failed, and left before this one looked.
std::optional<RunFailure> Membership::FindEarlyLeaver(const std::vector<int>& missing) {
  if (missing.empty() || !IsExpendable(missing.back())) return std::nullopt;
  if (!store_->Check({place_.Key("ready")})) return std::nullopt;
  std::vector<int> left;
  for (const int shard : missing) {  // it may have joined since, or not be known to live yet
    peers_.Fetch(store_.get(), shard);
    if (peers_.Find(shard) == nullptr) left.push_back(shard);
  }
  if (left.empty()) return std::nullopt;
  return RecordFailure(store_.get(), generation(), RunFailure::kLost,
                       MakeString("run ", options().run_id, ": ", ListOfShards(left),
                                  " left while the others were joining; the cause is in the output "
                                  "there"));
}

void Membership::Withdraw() {
  end_->WithdrawOwnKeys();
  end_.reset();
  heartbeat_.reset();
}

void Membership::CallWhileWaiting() {
  if (!options().while_waiting) return;
  try {
    options().while_waiting();
  } catch (...) {
    try {
      // A shard that is asked to stop does not wait long for the store, and says why it stopped.
      store_->SetDeadline(Deadline(kEndWait));
      Withdraw();
      if (!HasMembers()) {
        // Otherwise they would hold for the next start, which may have another configuration. A
        // shard that joins in this moment publishes them anew.
        store_->Remove(place_.Key("config"));
        store_->Remove("generation");
      }
    } catch (const std::exception& e) {
      LOG(WARNING) << "run " << options().run_id << ": its keys must expire: " << e.what();
    }
    throw;
  }
}

bool Membership::HasMembers() {
  for (int shard = 0; shard < options().num_shards; ++shard) {
    if (store_->Check({place_.Key("member", shard)})) return true;
  }
  return false;
}

// Returns true when all shards have joined; false if this generation belongs to dead processes.
bool Membership::WaitForOthers(const Deadline& deadline) {
  auto next_progress = Clock::now() + kProgressEvery, next_check = Clock::now();
  for (milliseconds pause = kFirstPoll;; pause = std::min(pause * 2, kSlowestPoll)) {
    const std::vector<int> missing = peers_.Missing(store_.get());
    const size_t joined = options().num_shards - missing.size();
    auto failure = FindFailure(store_.get(), generation());
    if (!failure && missing.empty()) {
      store_->SetIfAbsent(place_.Key("ready"), place_.ready());
      store_->Expire(place_.Key("ready"), place_.key_lifetime());
      return true;
    }
    if (!failure && Clock::now() >= next_check) {
      next_check = Clock::now() + kCheckMembersEvery;
      failure = FindDeadMember();
      if (!failure) failure = FindEarlyLeaver(missing);
    }
    if (!failure && deadline.expired()) {
      failure = RecordFailure(
          store_.get(), generation(), RunFailure::kTimeout,
          MakeString("run ", options().run_id, ": ", joined, " of ", options().num_shards,
                     " shards joined within ", options().join_timeout.count() / 1000.0,
                     " s; missing: ", ListOfShards(missing), TryBefore()));
    }
    if (failure) {
      Withdraw();
      if (failure->kind == RunFailure::kStale) return false;
      failure->Throw();
    }
    if (Clock::now() >= next_progress) {
      next_progress += kProgressEvery;
      LOG(INFO) << "run " << options().run_id << ": " << joined << " of " << options().num_shards
                << " shards joined; waiting for " << ListOfShards(missing) << " (deadline in "
                << deadline.remaining().count() / 1000 << " s)" << TryBefore();
    }
    CallWhileWaiting();
    std::this_thread::sleep_for(pause);
  }
}

void Membership::NoteWithoutStore(const std::string& cause, bool peer_error, int suspect) {
  const MemberRecord* record = suspect < 0 ? nullptr : peers_.Find(suspect);
  std::string line;
  // A process that was killed closes its connections before it is gone.
  for (const Deadline deadline(kEndWait); peer_error && line.empty() && !deadline.expired();
       std::this_thread::sleep_for(kFirstPoll)) {
    line = LostLineWithoutStore(peers_.Members());
  }
  if (line.empty() && peer_error) line = LostLineWithoutStore(suspect, record);
  if (line.empty()) {
    line = LostLine(suspect, record, heartbeat_->Text(), cause + " (the store is unreachable)");
  }
  // Nobody else is to end because of an expendable shard.
  if (IsExpendable(options().shard_id)) return heartbeat_->NoteFailure(line);
  heartbeat_->NoteUnconfirmed(line);
}

// Of the shards that decide before and after the store comes back, the first one to write decides
// for all. It reads first: a command that a stopped store executes later must not leave a key
// without an end.
bool Membership::ConfirmFailure() {
  if (heartbeat_->confirmed()) return heartbeat_->store_reachable();
  for (const Deadline deadline(heartbeat_->WatchTimeWithoutStore()); !heartbeat_->confirmed();
       std::this_thread::sleep_for(kSlowestPoll)) {
    try {
      store_->SetDeadline(Deadline(std::min(kConfirmWait, deadline.remaining())));
      if (heartbeat_->WasLeftBehind(store_.get())) return false;
      store_->Check({FailureKey(generation())});
      const std::string own = Failure();
      heartbeat_->NoteFailure(
          RecordFailure(store_.get(), generation(), RunFailure::kLost, own).line);
    } catch (const std::exception& e) {
      if (!deadline.expired()) continue;
      LOG(WARNING) << "run " << options().run_id << ": its keys must expire: " << e.what();
      heartbeat_->NoteFailure(Failure());
      return false;
    }
  }
  return true;
}

// Finds the shard at fault after an error in a collective operation. The heartbeats must have been
// watched for four beats, if need be from now on, unless a process on this host is gone or another
// shard has recorded the failure. A slow store can make several shards look silent at once: then
// they must have been watched for a lease.
Culprit Membership::FindCulprit(int suspect) {
  const milliseconds silence = std::max(options().heartbeat * 3, kShortestSilence);
  HeartbeatWatch watch = heartbeat_->WatchOfAll();
  std::vector<ChangeWatch>& heartbeats = watch.heartbeats;
  const auto watched = std::chrono::duration_cast<milliseconds>(Clock::now() - watch.since);
  const Deadline deadline(silence * 4 / 3 - watched),
      longest(std::max(silence * 4 / 3, options().lease) - watched);
  while (true) {
    for (int shard = options().num_expendable; shard < options().num_shards; ++shard) {
      if (peers_.IsGone(shard)) return {shard};
      if (!heartbeat_->store_reachable()) continue;
      const auto beat = store_->TryGet(place_.Key("heartbeat", shard));
      if (beat) heartbeats[shard].Note(*beat);  // one that expires is no sign of life
    }
    if (heartbeat_->store_reachable() && store_->Check({FailureKey(generation())}))
      return {suspect};
    std::vector<int> silent;
    for (int shard = options().num_expendable; shard < options().num_shards; ++shard) {
      // Shorter than the watch, because a shard may send its last beat just after the watch begins.
      const bool quiet = heartbeats[shard].unchanged_for() > silence;
      if (shard != options().shard_id && quiet) silent.push_back(shard);
    }
    if (deadline.expired() && (silent.size() <= 1 || longest.expired())) {
      if (silent.size() == 1) return {silent[0]};
      std::vector<std::string> beats;
      for (const ChangeWatch& heartbeat : heartbeats) beats.push_back(heartbeat.value());
      const Culprit behind =
          silent.empty() && options().num_expendable == 0
              ? FindLaggingShard(options().shard_id, heartbeat_->Collective(), beats)
              : Culprit{};
      return behind.shard >= 0 ? behind : Culprit{suspect};
    }
    std::this_thread::sleep_for(kSlowestPoll);
  }
}

std::string Membership::ReportFailure(const std::string& cause, bool peer_error, int suspect) {
  const std::lock_guard<std::mutex> lock(end_mutex_);
  std::string line = Failure();
  if (ended_) return line.empty() ? OneLine(cause) : line;
  ended_ = true;
  Culprit found{options().shard_id};
  if (peer_error) found = {suspect >= 0 && suspect < options().num_shards ? suspect : -1};
  const int& culprit = found.shard;
  bool leaves_alone = false;
  auto line_of = [&](const std::string& why) {
    const bool own = culprit == options().shard_id;
    const MemberRecord* record = culprit < 0 ? nullptr : peers_.Find(culprit);
    std::string beat = own ? heartbeat_->Text() : "";
    if (!own && culprit >= 0 && heartbeat_->store_reachable()) {
      beat = store_->TryGet(place_.Key("heartbeat", culprit)).value_or("");
    }
    return LostLine(culprit, record, beat, why);
  };
  try {
    store_->SetDeadline(Deadline(kEndWait));
    if (heartbeat_->WasLeftBehind(store_.get())) {
      heartbeat_->Stop();
      return Failure();
    }
    if (line.empty() && peer_error) found = FindCulprit(culprit);
    if (line.empty() && IsExpendable(options().shard_id)) {
      const bool was_given_up =
          heartbeat_->store_reachable() && store_->Check({place_.Key("lost", options().shard_id)});
      leaves_alone = !peer_error || was_given_up;
      if (was_given_up) found = {options().shard_id, "this process was silent for too long"};
    }
    const std::string why = found.cause.empty() ? cause : found.cause;
    if (leaves_alone) {
      heartbeat_->NoteFailure(line_of(why + " (the other shards go on)"));
    } else if (line.empty() && !heartbeat_->store_reachable()) {
      NoteWithoutStore(why, peer_error, culprit);
    } else if (line.empty()) {
      heartbeat_->NoteFailure(
          RecordFailure(store_.get(), generation(), RunFailure::kLost, line_of(why)).line);
    }
  } catch (const std::exception&) {
    if (Failure().empty()) NoteWithoutStore(cause, peer_error, culprit);
  }
  EndFailed(!leaves_alone);
  return Failure();
}

void Membership::EndFailed(bool ends_run) {
  // Shards that are busy must see that the other one is gone before this one is.
  const auto linger = [this] { std::this_thread::sleep_for(heartbeat_->WatchTimeWithoutStore()); };
  const bool was_confirmed = heartbeat_->confirmed();
  if (ConfirmFailure()) {
    try {
      store_->SetDeadline(Deadline(kEndWait));
      if (!heartbeat_->WasLeftBehind(store_.get())) end_->EndInStore(ends_run);
    } catch (const std::exception& e) {
      LOG(WARNING) << "run " << options().run_id << ": its keys must expire: " << e.what();
      linger();
    }
  } else if (was_confirmed) {
    linger();
  }
  heartbeat_->Stop();
}

std::string Membership::Leave() {
  const std::lock_guard<std::mutex> lock(end_mutex_);
  if (ended_ || !heartbeat_) return "";
  ended_ = true;
  try {
    store_->SetDeadline(Deadline(kEndWait));
    const bool left_behind = heartbeat_->WasLeftBehind(store_.get());
    if (!left_behind && Failure().empty()) {
      end_->LeaveTogether([this](int shard) { return peers_.IsGone(shard); });
      store_->SetDeadline(Deadline(kEndWait));
    }
    if (!left_behind) end_->EndInStore(true);
  } catch (const std::exception& e) {
    LOG(WARNING) << "run " << options().run_id << ": its keys must expire: " << e.what();
  }
  heartbeat_->Stop();
  return heartbeat_->confirmed() ? Failure() : "";
}

}  // namespace

void RunMembership::ThrowIfFailed() const {
  const std::string failure = Failure();
  if (!failure.empty()) ThrowIoError(ExitCode::kPeerLost, failure);
}

std::unique_ptr<RunMembership> RunMembership::Join(const StoreFactory& stores,
                                                   const RunOptions& options) {
  auto membership = std::make_unique<Membership>(stores, options);
  membership->Join();
  return membership;
}

}  // namespace caffe2
