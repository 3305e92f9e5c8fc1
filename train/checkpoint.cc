#include "train/checkpoint.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/utils/seconds_since.h"
#include "db/db_reader.h"
#include "train/atomic_file.h"
#include "train/db_blobs.h"
#include "train/input.h"
#include "train/kept_checkpoints.h"
#include "train/random_positions.h"
#include "train/run_settings.h"
#include "train/shard_states.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kVersion = 1;
constexpr char kHeader[] = "!!CHECKPOINT";

db::DBReader* Reader(const TrainNets& nets, Workspace* ws) {
  if (nets.reader.empty()) return nullptr;
  return ws->GetBlob(nets.reader)->GetMutable<std::unique_ptr<db::DBReader>>()->get();
}

NetBase* TrainNet(const TrainNets& nets, Workspace* ws) {
  NetBase* net = ws->GetNet(nets.train.name());
  CAFFE_ENFORCE(net != nullptr, "the training net does not exist yet");
  return net;
}

// The running statistics, and their moving averages, of all replicas of the shard.
std::vector<std::string> RunningStatistics(const TrainNets& nets) {
  std::vector<std::string> blobs;
  for (const std::string& scope : nets.scopes) {
    for (const std::string& name : nets.AllStatistics()) blobs.push_back(scope + name);
  }
  return blobs;
}

ShardStateProto StateOfShard(const TrainNets& nets, Workspace* ws) {
  ShardStateProto state;
  for (const std::string& name : RunningStatistics(nets)) {
    Tensor copy(CPU);
    const Tensor& tensor = OnHost(ws->GetBlob(name)->Get<Tensor>(), &copy);
    const float* data = tensor.data<float>();
    state.mutable_computed_param()->Add(data, data + tensor.numel());
  }
  SaveRandomPositions(*TrainNet(nets, ws), &state);
  if (const db::DBReader* reader = Reader(nets, ws)) {
    state.set_data_position(reader->Committed());
    state.set_data_offset(reader->offset());
  }
  return state;
}

// The number of floats of running statistics in each replica.
size_t StatisticsOfReplica(const TrainNets& nets, const Workspace& ws) {
  int64_t size = 0;
  for (const std::string& name : nets.AllStatistics()) {
    size += ws.GetBlob(nets.scope + name)->Get<Tensor>().numel();
  }
  return static_cast<size_t>(size);
}

// Sets running statistics to `values`, one statistic after another.
void SetStatistics(const std::vector<std::string>& blobs, const float* values, int count,
                   Workspace* ws) {
  int next = 0;
  for (const std::string& name : blobs) {
    Tensor* tensor = ws->GetBlob(name)->GetMutable<Tensor>();
    CAFFE_ENFORCE(next + tensor->numel() <= count, "the checkpoint has ", count,
                  " numbers of running statistics, fewer than the model needs");
    tensor->CopyFrom(Tensor(tensor->sizes(),
                            std::vector<float>(values + next, values + next + tensor->numel())));
    next += static_cast<int>(tensor->numel());
  }
}

// The parameters of the first replica, and their moving averages.
std::vector<std::string> Params(const TrainNets& nets) {
  std::vector<std::string> blobs;
  for (const auto* names : {&nets.params, &nets.ema.params}) {
    for (const std::string& name : *names) blobs.push_back(nets.scope + name);
  }
  return blobs;
}

// The state that all shards share: these parameters and the optimizer state.
std::vector<std::string> SharedBlobs(const TrainNets& nets) {
  std::vector<std::string> blobs = Params(nets);
  blobs.insert(blobs.end(), nets.optimizer_state.begin(), nets.optimizer_state.end());
  return blobs;
}

void CheckSettings(const CheckpointProto& checkpoint, const TrainOptions& options,
                   const std::string& path) {
  auto expected = RunSettings(options);
  std::string differences;
  for (const SettingProto& setting : checkpoint.setting()) {
    // Another share would test images that the model was trained on.
    const bool divides = setting.name() == "holdout" && options.data.holdout > 0;
    if (options.schedule.evaluate && !IsTestSetting(setting.name()) && !divides) continue;
    if (IsLayoutSetting(setting.name())) continue;
    const std::string& now = expected[setting.name()];
    if (now != setting.value()) {
      differences += " " + setting.name() + " (" + setting.value() + " there, " + now + " now)";
    }
  }
  if (!options.schedule.evaluate) {
    differences += LayoutConflict(LayoutOf(checkpoint), LayoutOf(RunSettings(options)),
                                  options.output.auto_resume);
  }
  CAFFE_ENFORCE(differences.empty(), "cannot resume from ", path,
                ": it is from a run with other settings:", differences,
                "; resume with the flags of that run, or start another one from its model with "
                "--load_model_path");
}

CheckpointProto ParseHeader(const std::string& bytes, const std::string& path) {
  CheckpointProto checkpoint;
  if (!checkpoint.ParseFromString(bytes))
    ThrowIoError(ExitCode::kBadData, path, " is not a checkpoint");
  CAFFE_ENFORCE(checkpoint.version() == kVersion, path, " is a checkpoint of version ",
                checkpoint.version(), "; this program reads version ", kVersion);
  return checkpoint;
}

CheckpointProto MakeHeader(const TrainOptions& options, const TrainNets& nets,
                           const Progress& progress, const std::vector<std::string>& states,
                           const ShardRun& run) {
  CheckpointProto checkpoint;
  checkpoint.set_version(kVersion);
  checkpoint.set_run_id(run.identity().run_id);
  checkpoint.set_generation(run.identity().generation);
  for (const auto& [name, value] : RunSettings(options)) {
    SettingProto* setting = checkpoint.add_setting();
    setting->set_name(name);
    setting->set_value(value);
  }
  checkpoint.set_total_iterations(progress.total_iterations);
  checkpoint.set_epoch(progress.epoch);
  checkpoint.set_epoch_iterations_done(progress.epoch_iterations);
  checkpoint.set_epoch_images(progress.epoch_images);
  checkpoint.set_rate_offset(progress.rate_offset);
  checkpoint.set_num_epochs(options.schedule.num_epochs);
  checkpoint.set_loss_sum(progress.loss_sum);
  checkpoint.set_accuracy_sum(progress.accuracy_sum);
  checkpoint.set_seconds(progress.seconds);
  checkpoint.set_best_accuracy(progress.best.accuracy);
  checkpoint.set_best_epoch(progress.best.epoch);
  for (const std::string& key : progress.bad_records) {
    checkpoint.mutable_bad_records()->add_key(key);
  }
  for (const std::string& path : progress.models) checkpoint.add_model(path);
  for (const std::string& name : nets.AllStatistics()) checkpoint.add_computed_param(name);
  for (const std::string& state : states) {
    CAFFE_ENFORCE(checkpoint.add_shard()->ParseFromString(state),
                  "the state of a shard in the checkpoint is damaged");
  }
  return checkpoint;
}

// The models of the run that this one writes in the same places.
std::vector<std::string> KeptModelsOf(const CheckpointProto& checkpoint,
                                      const OutputOptions& output) {
  if (!output.model_path) return {};
  std::set<std::string> names;
  for (int epoch = 1; epoch <= checkpoint.epoch() + 1; ++epoch) {
    names.insert(output.model_path(epoch));
  }
  std::vector<std::string> models;
  for (const std::string& path : checkpoint.model()) {
    if (names.count(path) != 0) models.push_back(path);
  }
  return models;
}

// Records at the same positions of other data are other records.
void WarnOfOtherData(const CheckpointProto& checkpoint, const TrainOptions& options,
                     const std::string& path) {
  if (options.schedule.evaluate || !checkpoint.has_data_fingerprint()) return;
  const std::string now = DataFingerprint(options.data, options.data.train_data);
  if (now == checkpoint.data_fingerprint()) return;
  LOG(WARNING) << "--train_data is not what it was when " << path << " was written ("
               << checkpoint.data_fingerprint() << " then, " << now
               << " now): the run goes on, at the same position of other records";
}

}  // namespace

CheckpointSaver::CheckpointSaver(const TrainOptions& options, const TrainNets& nets, Workspace* ws,
                                 ShardRun* run, const RunLock* lock)
    : options_(options),
      nets_(nets),
      ws_(ws),
      run_(run),
      lock_(lock),
      data_fingerprint_(run->IsWriter() ? DataFingerprint(options.data, options.data.train_data)
                                        : ""),
      new_lineage_(NewLineage()),
      shared_(SharedBlobs(nets)) {}

void CheckpointSaver::Save(const Progress& progress) {
  const auto start = Clock::now();
  const auto states = run_->Gather(StateOfShard(nets_, ws_).SerializeAsString());
  if (!run_->IsWriter()) return;
  save_.WaitForLast();
  CheckpointProto header = MakeHeader(options_, nets_, progress, states, *run_);
  header.set_data_fingerprint(data_fingerprint_);
  header.set_lineage(progress.lineage.empty() ? new_lineage_ : progress.lineage);
  *copies_.CreateBlob(kHeader)->GetMutable<std::string>() = HeaderBytes(std::move(header));
  for (const std::string& name : shared_) {
    BlobGetMutableTensor(copies_.CreateBlob(name), Device{})
        ->CopyFrom(ws_->GetBlob(name)->Get<Tensor>());
  }
  save_.Start([this, held = SecondsSince(start)] { Write(held); },
              "The checkpoint was not written, the one before is kept: ");
}

void CheckpointSaver::Write(double held_seconds) {
  const std::string& path = options_.output.checkpoint_path;
  std::vector<std::string> blobs = {kHeader};
  blobs.insert(blobs.end(), shared_.begin(), shared_.end());
  const auto start = Clock::now();
  SaveBlobs(&copies_, blobs, {path, lock_, options_.output.keep_checkpoints});
  LOG(INFO) << "Wrote checkpoint " << path << ": training waited " << held_seconds
            << " s, writing took " << SecondsSince(start) << " s";
}

LoadedCheckpoint LoadCheckpoint(const std::string& path, const TrainOptions& options,
                                const TrainNets& nets, Workspace* ws, ShardRun* run) {
  std::string header, whole;
  if (run->IsWriter()) {
    whole = NewestCheckpoint(path, options.output);
    ws->CreateBlob(kHeader);
    LoadBlobs(ws, {kHeader}, whole, /*need_checksum=*/false);  // checked above
    header = ws->GetBlob(kHeader)->Get<std::string>();
    const CheckpointProto written = ParseHeader(header, whole);
    CheckSettings(written, options, whole);
    WarnOfOtherData(written, options, whole);
    LoadBlobs(ws, options.schedule.evaluate ? Params(nets) : SharedBlobs(nets), whole,
              /*need_checksum=*/false);
  }
  whole = run->Broadcast(whole);
  CheckpointProto checkpoint = ParseHeader(run->Broadcast(header), whole);
  CAFFE_ENFORCE(checkpoint.shard_size() == LayoutOf(checkpoint).num_shards, whole,
                " must have the state of ", LayoutOf(checkpoint).num_shards, " shards, found ",
                checkpoint.shard_size());
  const std::vector<std::string> statistics = nets.AllStatistics();
  CAFFE_ENFORCE(std::equal(statistics.begin(), statistics.end(),
                           checkpoint.computed_param().begin(), checkpoint.computed_param().end()),
                whole, " does not have the same running statistics as the model");
  return {std::move(checkpoint), whole};
}

void RestoreShard(const CheckpointProto& checkpoint, const TrainOptions& options,
                  const TrainNets& nets, Workspace* ws) {
  const ShardLayout now = LayoutOf(RunSettings(options));
  NetBase* net = TrainNet(nets, ws);
  ShardStateProto state;
  if (LayoutOf(checkpoint) == now) {
    state = checkpoint.shard(options.shards.shard_id);
    RestoreRandomPositions(state, net);
  } else {
    state = StateInLayout(checkpoint, now, StatisticsOfReplica(nets, *ws));
    // Beyond what any shard has drawn.
    net->SetRandomState(
        std::vector<uint64_t>(net->RandomState().size(), LastRandomPosition(checkpoint)));
    LOG(INFO) << DescribeOtherLayout(checkpoint, now);
  }
  SetStatistics(RunningStatistics(nets), state.computed_param().data(), state.computed_param_size(),
                ws);
  if (db::DBReader* reader = Reader(nets, ws)) {
    reader->Restore(state.data_position(), state.data_offset());
  }
}

std::string DescribeOtherSchedule(const CheckpointProto& checkpoint, const TrainOptions& options) {
  const std::string& policy = options.model.lr_policy;
  const int now = options.schedule.num_epochs;
  const bool ends_with_run = policy == "poly" || policy == "cosine";
  if (!ends_with_run || !checkpoint.has_num_epochs() || checkpoint.num_epochs() == now) return "";
  return MakeString("--num_epochs is ", now, ", was ", checkpoint.num_epochs(),
                    " in the run of the checkpoint: the learning rate of --lr_policy ", policy,
                    " depends on it and changes from here on; --num_epochs ",
                    checkpoint.num_epochs(), " keeps it");
}

void RestoreMeanStatistics(const CheckpointProto& checkpoint, const TrainNets& nets,
                           Workspace* ws) {
  std::vector<float> values;
  const std::vector<float> means = MeanStatistics(checkpoint, StatisticsOfReplica(nets, *ws));
  for (size_t r = 0; r < nets.scopes.size(); ++r) {
    values.insert(values.end(), means.begin(), means.end());
  }
  SetStatistics(RunningStatistics(nets), values.data(), static_cast<int>(values.size()), ws);
}

Progress ProgressOf(const CheckpointProto& checkpoint, const TrainOptions& options) {
  return {
      .total_iterations = checkpoint.total_iterations(),
      .epoch = checkpoint.epoch(),
      .epoch_iterations = checkpoint.epoch_iterations_done(),
      .epoch_images = EpochImages(checkpoint),
      .rate_offset =
          RateOffset(checkpoint, options.schedule.epoch_size, LayoutOf(RunSettings(options))),
      .loss_sum = checkpoint.loss_sum(),
      .accuracy_sum = checkpoint.accuracy_sum(),
      .seconds = checkpoint.seconds(),
      .best = {checkpoint.best_accuracy(), checkpoint.best_epoch()},
      .bad_records = {checkpoint.bad_records().key().begin(), checkpoint.bad_records().key().end()},
      .models = KeptModelsOf(checkpoint, options.output),
      .lineage = checkpoint.lineage()};
}

}  // namespace caffe2
