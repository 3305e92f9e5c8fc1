#include "train/shard_run.h"

#include <omp.h>

#include <algorithm>

#include "caffe2/core/logging.h"
#include "caffe2/core/operator_gradient.h"
#include "distributed/collective.h"
#include "distributed/core_share.h"
#include "distributed/file_descriptors.h"
#include "distributed/run_record.h"
#include "train/run_settings.h"
#include "train/stopped_early.h"
#include "train/train_nets.h"

namespace caffe2 {
namespace {

constexpr char kWorld[] = "control_0_cw";
constexpr char kValues[] = "control_values";
constexpr char kGathered[] = "control_gathered";
constexpr char kEngine[] = "GLOO";

std::unique_ptr<RunMembership> Join(
    const TrainOptions& options, const ShardStore& store,
    const std::function<void(int, const std::string&)>& on_worker_lost) {
  RunOptions run;
  run.run_id = options.shards.run_id;
  run.num_shards = options.shards.NumProcesses();
  run.num_expendable = options.shards.HasServers() ? options.shards.num_shards : 0;
  run.on_expendable_lost = on_worker_lost;
  run.shard_id = options.shards.shard_id;
  run.fingerprint = ShardSettings(options);
  run.devices = DescribeDevices(options.devices);
  run.join_timeout = Milliseconds(options.shards.rendezvous_timeout);
  run.exit_timeout = Milliseconds(options.shards.collective_timeout);
  run.silence = Milliseconds(options.shards.collective_timeout);
  run.while_waiting = options.shards.while_waiting;
  run.on_end = store.EndListener();
  return RunMembership::Join(store.stores(), run);
}

// Throws if this shard cannot have a connection to each other one, and tells them so. A store that
// it keeps itself is not there yet, and will not be.
void ReserveFiles(const ShardOptions& shards) {
  try {
    ReserveFilesOfWorld(shards.num_shards);
  } catch (const std::exception& error) {
    const bool keeps_store =
        !shards.tcp_store.empty() && shards.shard_id == 0 && !shards.scheduler_keeps_store;
    if (keeps_store) throw;
    constexpr double kWaitForStore = 2;  // seconds
    ShardOptions soon = shards;
    soon.rendezvous_timeout = std::min(shards.rendezvous_timeout, kWaitForStore);
    try {
      RecordRefusal(ShardStore(soon).stores(), shards.run_id, shards.shard_id, error.what());
    } catch (const std::exception& store_error) {
      LOG(WARNING) << "cannot tell the other shards: " << store_error.what();
    }
    throw;
  }
}

OperatorDef CreateWorld(const ShardOptions& shards) {
  OperatorDef op = GradientMakerBase::CreateOperatorDef(
      "CreateCommonWorld", std::string(kWorld) + "_op", {kStoreHandler}, {kWorld},
      {MakeArgument("size", shards.num_shards), MakeArgument("rank", shards.shard_id),
       MakeArgument("timeout_ms", static_cast<int>(shards.collective_timeout * 1e3)),
       MakeArgument("connect_timeout_ms", static_cast<int>(shards.ConnectTimeout() * 1e3)),
       MakeArgument("transport", shards.transport), MakeArgument("interface", shards.interface),
       MakeArgument("port_range", shards.port_range)});
  op.set_engine(kEngine);
  return op;
}

template <typename T>
void Feed(Workspace* ws, const std::string& name, const T* values, size_t n) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize(static_cast<int64_t>(n));
  std::copy(values, values + n, tensor->mutable_data<T>());
}

}  // namespace

std::string DescribeDevices(const std::vector<Device>& devices) {
  if (devices[0].type == CPU) return "cpu";
  std::string text;
  for (const Device& device : devices)
    text += (text.empty() ? "gpu " : ",") + MakeString(device.id);
  return text;
}

ShardRun::ShardRun(const TrainOptions& options, Workspace* ws,
                   const std::function<void(int, const std::string&)>& on_worker_lost)
    : ws_(ws),
      timeout_(options.shards.collective_timeout),
      late_timeout_(std::max(timeout_, options.shards.rendezvous_timeout)),
      num_shards_(options.shards.HasServers() ? 1 : options.shards.num_shards),
      shard_id_(options.shards.HasServers() ? 0 : options.shards.shard_id),
      own_id_(options.shards.shard_id),
      is_writer_(options.shards.shard_id == 0) {
  if (options.shards.num_threads > 0) omp_set_num_threads(options.shards.num_threads);
  const auto& on_joined = options.shards.on_joined;
  if (options.shards.NumProcesses() == 1) {
    if (on_joined) on_joined();
    return;
  }
  if (!options.shards.HasServers()) ReserveFiles(options.shards);
  store_ = std::make_unique<ShardStore>(options.shards);
  membership_ = Join(options, *store_, on_worker_lost);
  identity_ = {options.shards.run_id, membership_->generation(), membership_->token(),
               options.shards.HasServers() ? own_id_ : 0};
  if (on_joined) on_joined();
  membership_->OnPeerLost([listener = options.shards.on_peer_lost](const std::string& line) {
    if (listener) listener(line);
    AbortCommunicators(line);
  });
  const auto& stop = options.shards.stop_signal;
  if (stop) {
    // A server that gives up one worker goes on with the others, to their end.
    const bool aborts = !options.shards.HasServers();
    membership_->OnStopWhileBlocked([stop] { return stop() != 0; },
                                    [this, stop, aborts](const std::string& why) {
                                      GiveUp(stop(), why);
                                      if (aborts) AbortCommunicators(reason_to_give_up_);
                                    });
  }
  if (options.shards.num_threads == 0) UseCoreShare(*membership_);
  if (options.shards.HasServers()) return;
  try {
    *ws->CreateBlob(kStoreHandler)->GetMutable<std::unique_ptr<StoreHandler>>() =
        membership_->MakeStore();
    ws->RunOperatorOnce(CreateWorld(options.shards));
  } catch (const std::exception& error) {
    const std::string line = ReportFailure(error);
    // As in Trainer::Run: of several shards that were asked to stop, the first ends the run.
    if (stop && stop() != 0 && IsPeerError(error)) throw StoppedEarly(stop(), line);
    ThrowIoError(ExitCodeOf(error), line);
  }
}

// Resets the blobs, because the store handler must not outlive the membership. Nets with these
// common worlds do not run again.
ShardRun::~ShardRun() {
  for (const char* name : {kWorld, "allreduce_0_cw", "broadcast_0_cw", kStoreHandler}) {
    if (Blob* blob = ws_->GetBlob(name)) blob->Reset();
  }
}

void ShardRun::GiveUp(int signal, const std::string& why) {
  reason_to_give_up_ = MakeString("stopped by signal ", signal, " while it waited for ", why);
  gave_up_ = true;
}

void ShardRun::RunControl(const std::string& type, size_t count, const std::string& output) {
  // The name includes the size, so that the shards compare each operation only once.
  OperatorDef op = GradientMakerBase::CreateOperatorDef(
      type, MakeString("control_", type, "_", count), {kWorld, kValues}, {output});
  op.set_engine(kEngine);
  ws_->RunOperatorOnce(op);
}

void ShardRun::Sum(std::vector<double>* values) {
  if (num_shards_ == 1) return;
  Feed(ws_, kValues, values->data(), values->size());
  RunControl("Allreduce", values->size(), kValues);
  const double* sums = ws_->GetBlob(kValues)->Get<Tensor>().data<double>();
  std::copy(sums, sums + values->size(), values->begin());
}

std::vector<std::string> ShardRun::Gather(const std::string& bytes) {
  if (num_shards_ == 1) return {bytes};
  std::vector<double> sizes(static_cast<size_t>(num_shards_), 0.0);
  sizes[static_cast<size_t>(shard_id_)] = static_cast<double>(bytes.size());
  Sum(&sizes);
  // Pads all strings to the longest.
  const auto longest =
      std::max<size_t>(1, static_cast<size_t>(*std::max_element(sizes.begin(), sizes.end())));
  std::vector<uint8_t> padded(longest, 0);
  std::copy(bytes.begin(), bytes.end(), padded.begin());
  Feed(ws_, kValues, padded.data(), padded.size());
  RunControl("Allgather", longest, kGathered);
  const auto* all = ws_->GetBlob(kGathered)->Get<Tensor>().data<uint8_t>();
  std::vector<std::string> result;
  for (size_t s = 0; s < sizes.size(); ++s) {
    result.emplace_back(reinterpret_cast<const char*>(all + s * longest),
                        static_cast<size_t>(sizes[s]));
  }
  return result;
}

std::string ShardRun::Broadcast(const std::string& bytes) {
  return Gather(IsWriter() ? bytes : std::string()).at(0);
}

std::vector<std::string> ShardRun::GatherWithLongTimeout(const std::string& bytes) {
  SetTimeout(late_timeout_);
  std::vector<std::string> all = Gather(bytes);
  SetTimeout(timeout_);
  return all;
}

void ShardRun::SetTimeout(double seconds) {
  if (num_shards_ == 1) return;
  ws_->GetBlob(kWorld)->Get<std::shared_ptr<Communicator>>()->SetTimeout(Milliseconds(seconds));
}

void ShardRun::ThrowIfFailed() const {
  if (membership_) membership_->ThrowIfFailed();
}

void ShardRun::NoteOthersDone() {
  if (membership_) membership_->NoteOthersDone();
}

void ShardRun::UpdateStatus(const ShardStatus& status) {
  if (membership_) membership_->UpdateStatus(status);
}

std::string ShardRun::DescribeShard(int shard) const {
  const int id = num_shards_ == 1 ? own_id_ : shard;
  return membership_ ? membership_->DescribeShard(id) : MakeString("shard ", id);
}

void ShardRun::ThrowBlaming(int shard, const std::string& text, ExitCode code) const {
  if (num_shards_ == 1) ThrowIoError(code, text);
  throw PeerLost(text, shard, code);
}

std::string ShardRun::ReportFailure(const std::exception& cause) {
  if (!membership_) return cause.what();
  if (gave_up_ && IsPeerError(cause)) return membership_->ReportFailure(reason_to_give_up_, false);
  return membership_->ReportFailure(cause.what(), IsPeerError(cause), SuspectOf(cause));
}

std::string ShardRun::Leave() { return membership_ ? membership_->Leave() : ""; }

}  // namespace caffe2
