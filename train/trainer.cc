#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "caffe2/core/device_backend.h"
#include "db/db_reader.h"
#include "train/fusion_autotuner.h"
#include "train/predictor.h"
#include "train/run_settings.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

RecordKind KindOf(const TrainOptions& options, const std::string& source) {
  return source == kSyntheticData ? RecordKind::kDatum : RecordKindOf(options.data.db_type, source);
}

// Tells users of an exported model how to prepare images, and which generation of
// its run made it.
std::map<std::string, std::string> InputInfo(const TrainOptions& options, int generation) {
  return {{"generation", MakeString(generation)},
          {"image_size", MakeString(options.model.shape.image_size)},
          {"image_scale", MakeString(options.ImageScale())},
          {"num_channels", MakeString(options.model.shape.num_channels)},
          {"order", options.model.order},
          {"mean", CommaList(options.data.mean)},
          {"std", CommaList(options.data.std)}};
}

// A signal came before all shards had joined.
class StoppedEarly : public Error {
 public:
  explicit StoppedEarly(int signal)
      : Error(MakeString("stopped by signal ", signal, " while shards join")), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

// The options of a run that `stop` can end while it waits for other shards.
TrainOptions Prepare(TrainOptions options, const Trainer::StopFunction& stop) {
  Validate(options);
  if (stop) {
    options.shards.while_waiting = [stop] {
      if (const int signal = stop()) throw StoppedEarly(signal);
    };
  }
  return WithEpochSize(std::move(options));
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, std::shared_ptr<TrainListener> listener,
                 StopFunction stop)
    : options_(Prepare(options, stop)), listener_(std::move(listener)), stop_(std::move(stop)) {
  if (!listener_) listener_ = std::make_shared<TrainListener>();
}

Trainer::~Trainer() = default;

int Trainer::Run() {
  try {
    run_ = std::make_unique<ShardRun>(options_, &ws_);
  } catch (const StoppedEarly& stopped) {
    LOG(INFO) << stopped.what();
    return stopped.signal();
  }
  try {
    LockOutputs();
    const RecordKind kind = KindOf(options_, options_.data.train_data);
    nets_ = BuildTrainNets(options_, kind, TuneFusion(kind));
    SetUp();
    const int signal = Loop();
    SetState("finished");
    run_->Leave();
    return signal;
  } catch (const std::exception& error) {
    if (run_->num_shards() == 1) throw;
    ThrowIoError(ExitCodeOf(error), run_->ReportFailure(error));
  }
}

// With --fuse_conv auto on GPUs, where all shards ask for it and shard 0 has a folder for the
// results. Of the shards, shard 0 alone measures.
FusionChoices Trainer::TuneFusion(RecordKind kind) {
  const TrainingPasses passes = PassesOf(options_);
  const bool is_first = run_->shard_id() == 0;
  FusionAutotunerOptions tuner{.cache = PlanCache::Default(),
                               .executor = options_.cuda_graph ? "cuda_graph" : "simple",
                               .measures = is_first};
  const bool wanted = options_.model.fuse_conv == "auto" &&
                      passes.fuse_conv != ConvNormFusion::kNone &&
                      (!is_first || tuner.cache.is_kept());
  const std::vector<std::string> all = run_->Gather(wanted ? "tunes" : "");
  if (std::count(all.begin(), all.end(), "") != 0) return {};
  // Shard 0 measures for longer than an exchange may take.
  if (run_->num_shards() > 1) {
    tuner.broadcast = [this](const std::string& text) {
      return run_->BroadcastWithLongTimeout(text);
    };
  }
  const ForwardNets forward = BuildForwardNets(options_, kind);
  tuner.shapes = InferBlobShapesAndTypes({}, {&forward.init});
  return FusionAutotuner(std::move(tuner)).Choose(forward.net, passes);
}

// With auto_resume shard 0 decides for all, because others may not see its files.
bool Trainer::Resumes() {
  if (!options_.output.auto_resume) return options_.output.resume;
  const bool exists = run_->IsWriter() && HasCheckpoint(options_.output.checkpoint_path);
  return !run_->Broadcast(exists ? "resume" : "").empty();
}

// Before anything is read: afterwards no earlier generation of the run can change the files.
void Trainer::LockOutputs() {
  if (!run_->IsWriter()) return;
  const OutputOptions& output = options_.output;
  if (output.checkpoint_every > 0) {
    checkpoint_lock_ = std::make_unique<RunLock>(output.checkpoint_path, run_->identity());
  }
  if (output.model_path) {
    model_lock_ = std::make_unique<RunLock>(output.model_path(0), run_->identity());
  }
}

void Trainer::SetUp() {
  CAFFE_ENFORCE(ws_.RunNetOnce(nets_.init));
  CheckpointProto checkpoint;
  const bool resumes = Resumes();
  if (resumes) {
    checkpoint = LoadCheckpoint(options_.output.checkpoint_path, options_, nets_, &ws_, run_.get());
  } else if (!options_.output.load_model_path.empty() && run_->IsWriter()) {
    LoadModel();
  }
  CAFFE_ENFORCE(ws_.RunNetOnce(nets_.broadcast), "the broadcast of the parameters failed");
  PlaceNet();
  ws_.CreateNet(nets_.train);
  progress_.epoch = options_.output.load_epoch;
  if (resumes) {
    RestoreShard(checkpoint, nets_, run_->shard_id(), &ws_);
    progress_ = ProgressOf(checkpoint);
    LOG(INFO) << "Resumed from " << options_.output.checkpoint_path << ": iteration "
              << progress_.total_iterations << ", epoch " << progress_.epoch;
  }
  if (options_.output.checkpoint_every > 0) {
    saver_ = std::make_unique<CheckpointSaver>(options_, nets_, &ws_, run_.get(),
                                               checkpoint_lock_.get());
  }
  view_ = std::make_unique<ModelView>(nets_, &ws_, run_.get());
  if (!options_.data.test_data.empty()) {
    evaluator_ = std::make_unique<Evaluator>(options_, KindOf(options_, options_.data.test_data),
                                             view_.get(), run_.get());
  }
  LogEpochSize();
}

void Trainer::LogEpochSize() const {
  std::string data = "synthetic images";
  if (!nets_.reader.empty()) {
    const auto& reader = ws_.GetBlob(nets_.reader)->Get<std::unique_ptr<db::DBReader>>();
    data = MakeString("--train_data has ", reader->NumRecords(), " images");
  }
  LOG(INFO) << "Using epoch size: "
            << options_.EpochIterations() * options_.schedule.batch_size * run_->num_shards()
            << " (" << data << ")";
}

void Trainer::PlaceNet() {
  std::set<std::string> keep = {nets_.learning_rate};
  for (const std::string& scope : nets_.scopes) {
    for (const std::string* name : {&nets_.loss, &nets_.accuracy, &nets_.accuracy_top5}) {
      if (!name->empty()) keep.insert(scope + name->substr(nets_.scope.size()));
    }
  }
  for (const auto& [device, plan] : PlaceTraining(nets_.train, nets_.prepared, keep, &ws_)) {
    constexpr double kMiB = 1 << 20;
    LOG(INFO) << "Planned memory of " << device.ToString() << ": " << plan.slots.size()
              << " blobs in " << plan.arena_bytes / kMiB << " MiB instead of "
              << plan.unplanned_bytes / kMiB;
  }
}

// Finds parameters by name, without the scope that names may have ("gpu_0/" in Caffe2's models).
// Sets the iteration of the optimizer as after `load_epoch` epochs, which the learning rate depends
// on.
void Trainer::LoadModel() {
  Workspace source;
  const Predictor predictor =
      LoadPredictor(options_.output.load_model_path, &source,
                    options_.output.trust_model ? std::nullopt : std::optional(ModelLimits()));
  std::map<std::string, std::string> by_name;
  for (const std::string& name : predictor.parameters) {
    by_name[name.substr(name.rfind('/') + 1)] = name;
  }
  for (const auto* names : {&nets_.params, &nets_.computed_params}) {
    for (const std::string& name : *names) {
      CAFFE_ENFORCE(by_name.count(name), options_.output.load_model_path, " has no parameter ",
                    name);
      const Tensor& value = source.GetBlob(by_name[name])->Get<Tensor>();
      Tensor* param = ws_.GetBlob(nets_.scope + name)->GetMutable<Tensor>();
      CAFFE_ENFORCE(param->sizes() == value.sizes(), "parameter ", name, " has shape ",
                    ShapeString(value.sizes()), " in ", options_.output.load_model_path,
                    "; the network needs ", ShapeString(param->sizes()));
      CAFFE_ENFORCE(param->dtype() == value.dtype(), "parameter ", name, " has type ",
                    value.dtype().name(), " in ", options_.output.load_model_path,
                    "; the network needs ", param->dtype().name());
      param->CopyFrom(value);
    }
  }
  *ws_.GetBlob("optimizer_iteration")->GetMutable<Tensor>()->mutable_data<int64_t>() =
      options_.output.load_epoch * options_.EpochIterations();
  LOG(INFO) << "Loaded " << options_.output.load_model_path << ". Reset epoch to "
            << options_.output.load_epoch;
}

bool Trainer::LimitReached() const {
  const int64_t limit = options_.schedule.max_iterations;
  return stop_signal_ != 0 || (limit > 0 && progress_.total_iterations >= limit);
}

int Trainer::Loop() {
  bool ended = LimitReached();
  while (!ended && progress_.epoch < options_.schedule.num_epochs) ended = RunEpoch();
  if (options_.output.checkpoint_every > 0 && checkpointed_at_ != progress_.total_iterations) {
    Checkpoint();
  }
  if (saver_) saver_->Finish();
  return stop_signal_;
}

bool Trainer::RunEpoch() {
  listener_->OnEpochStart(progress_.epoch, options_.schedule.num_epochs);
  SetState("training");
  const int64_t iterations = options_.EpochIterations();
  const int64_t every = options_.output.checkpoint_every;
  while (progress_.epoch_iterations < iterations && !LimitReached()) {
    const Status status = RunIteration();
    const bool last = progress_.epoch_iterations == iterations || LimitReached();
    Report(status, last);
    // At the end of an epoch, the checkpoint is written after FinishEpoch().
    if (every > 0 && progress_.total_iterations % every == 0 &&
        progress_.epoch_iterations < iterations) {
      Checkpoint();
    }
  }
  if (stop_signal_ != 0) return true;
  FinishEpoch();
  if (every > 0 && progress_.total_iterations % every == 0 &&
      checkpointed_at_ != progress_.total_iterations) {
    Checkpoint();
  }
  return LimitReached();
}

Trainer::Status Trainer::RunIteration() {
  const auto start = Clock::now();
  CAFFE_ENFORCE(ws_.RunNet(nets_.train.name()), "the training net failed");
  const Status status =
      Exchange(MeanOfReplicas(nets_.loss), MeanOfReplicas(nets_.accuracy),
               nets_.accuracy_top5.empty() ? 1.0 : MeanOfReplicas(nets_.accuracy_top5));
  ++progress_.total_iterations;
  ++progress_.epoch_iterations;
  CAFFE_ENFORCE(status.bad_shard < 0, "Exploded gradients: the loss of ",
                run_->DescribeShard(status.bad_shard), " is ", status.bad_loss, " in iteration ",
                progress_.epoch_iterations, " of epoch ", progress_.epoch);
  progress_.loss_sum += status.loss;
  progress_.accuracy_sum += status.accuracy;
  const double seconds = SecondsSince(start);
  progress_.seconds += seconds;
  pending_seconds_ += seconds;
  stop_signal_ = status.stop;
  return status;
}

// Averages over the shards. A bad loss is sent in a separate element for each shard, so that all
// shards know whose it is and NaN does not spoil the sums.
Trainer::Status Trainer::Exchange(double loss, double accuracy, double top5) {
  const bool bad = !(loss <= kMaxLoss);
  const auto shards = static_cast<size_t>(run_->num_shards());
  const auto self = static_cast<size_t>(run_->shard_id());
  std::vector<double> values(3 + 3 * shards, 0.0);
  values[0] = bad ? 0.0 : loss;
  values[1] = accuracy;
  values[2] = top5;
  values[3 + self] = bad ? 1.0 : 0.0;
  values[3 + shards + self] = std::isfinite(loss) ? loss : 0.0;
  values[3 + 2 * shards + self] = stop_ ? stop_() : 0;
  run_->Sum(&values);
  Status status;
  status.loss = values[0] / run_->num_shards();
  status.accuracy = values[1] / run_->num_shards();
  status.accuracy_top5 = values[2] / run_->num_shards();
  for (size_t s = 0; s < shards; ++s) {
    status.stop = std::max(status.stop, static_cast<int>(values[3 + 2 * shards + s]));
    if (values[3 + s] == 0.0 || status.bad_shard >= 0) continue;
    status.bad_shard = static_cast<int>(s);
    const double value = values[3 + shards + s];
    status.bad_loss = value > kMaxLoss ? value : std::nan("");
  }
  return status;
}

void Trainer::Report(const Status& status, bool last) {
  pending_.loss += status.loss;
  pending_.accuracy += status.accuracy;
  pending_.accuracy_top5 += status.accuracy_top5;
  ++pending_iterations_;
  const bool due = progress_.total_iterations % options_.output.log_every == 0;
  if (!due && !last) return;
  const auto n = static_cast<double>(pending_iterations_);
  IterationReport report;
  report.epoch = progress_.epoch;
  report.iteration = progress_.epoch_iterations;
  report.epoch_iterations = options_.EpochIterations();
  report.loss = pending_.loss / n;
  report.accuracy = pending_.accuracy / n;
  report.accuracy_top5 = pending_.accuracy_top5 / n;
  report.images_per_second =
      n * static_cast<double>(options_.schedule.batch_size) / std::max(pending_seconds_, 1e-9);
  // All shards run at the same speed.
  report.job_images_per_second = report.images_per_second * run_->num_shards();
  const double waited = WaitedForInput();
  report.input_wait = (waited - waited_before_) / std::max(pending_seconds_, 1e-9);
  waited_before_ = waited;
  listener_->OnIteration(report);
  shard_status_.epoch = report.epoch;
  shard_status_.iteration = report.iteration;
  shard_status_.images_per_second = report.images_per_second;
  shard_status_.loss = report.loss;
  run_->UpdateStatus(shard_status_);
  pending_ = Status();
  pending_seconds_ = 0;
  pending_iterations_ = 0;
}

// Called after the last iteration of an epoch, or of a run that ends within an epoch.
void Trainer::FinishEpoch() {
  if (evaluator_) Test();
  const auto n = static_cast<double>(std::max<int64_t>(progress_.epoch_iterations, 1));
  EpochReport report;
  report.epoch = progress_.epoch;
  report.num_epochs = options_.schedule.num_epochs;
  report.loss = progress_.loss_sum / n;
  report.accuracy = progress_.accuracy_sum / n;
  report.seconds = progress_.seconds;
  report.images = progress_.epoch_iterations * options_.schedule.batch_size * run_->num_shards();
  report.learning_rate = std::abs(Scalar(nets_.learning_rate));
  report.total_iterations = progress_.total_iterations;
  if (evaluator_) report.test_accuracy = last_test_.accuracy;
  listener_->OnEpochEnd(report);
  if (progress_.epoch_iterations < options_.EpochIterations()) return;
  ++progress_.epoch;
  progress_.epoch_iterations = 0;
  progress_.loss_sum = progress_.accuracy_sum = progress_.seconds = 0;
  if (options_.output.model_path) Export();
}

void Trainer::Test() {
  SetState("testing");
  last_test_ = evaluator_->Run();
  last_test_.epoch = progress_.epoch;
  listener_->OnTest(last_test_);
}

void Trainer::Export() {
  SetState("saving");
  view_->Refresh();
  if (!run_->IsWriter()) return;
  const InferenceNets nets = BuildPredictorNets(options_);
  const int64_t side = options_.model.shape.image_size,
                channels = options_.model.shape.num_channels;
  PredictorExportMeta meta;
  meta.predict_net = nets.net;
  meta.parameters = nets.params;
  meta.inputs = {"data"};
  meta.outputs = {nets.softmax};
  meta.shapes["data"] = options_.model.order == "NCHW"
                            ? std::vector<int64_t>{1, channels, side, side}
                            : std::vector<int64_t>{1, side, side, channels};
  meta.application_info = InputInfo(options_, run_->identity().generation);
  const std::string path = options_.output.model_path(progress_.epoch);
  // Predictor files contain host tensors, whatever device trained them.
  Workspace host;
  for (const std::string& name : meta.parameters) {
    const Tensor& parameter = view_->workspace()->GetBlob(name)->Get<Tensor>();
    Tensor* copy = BlobGetMutableTensor(host.CreateBlob(name), Device{});
    parameter.GetDeviceType() == CPU ? copy->ShareData(parameter) : copy->CopyFrom(parameter);
  }
  try {
    SavePredictor(meta, &host, {path, model_lock_.get()});
  } catch (const Superseded&) {
    throw;
  } catch (const IoError& error) {
    const bool last = LimitReached() || progress_.epoch == options_.schedule.num_epochs;
    if (last) throw;
    LOG(WARNING) << "A model was not written, training goes on: " << error.what();
    return;
  }
  if (!options_.output.keep_all_models && !saved_model_.empty() && saved_model_ != path) {
    std::remove(saved_model_.c_str());
  }
  saved_model_ = path;
  listener_->OnModelSaved(path);
}

void Trainer::Checkpoint() {
  SetState("saving");
  saver_->Save(progress_);
  checkpointed_at_ = progress_.total_iterations;
  SetState("training");
}

double Trainer::WaitedForInput() const {
  if (nets_.reader.empty()) return 0;
  return ws_.GetBlob(nets_.reader)->Get<std::unique_ptr<db::DBReader>>()->WaitedSeconds();
}

void Trainer::SetState(const std::string& state) {
  shard_status_.state = state;
  run_->UpdateStatus(shard_status_);
}

double Trainer::MeanOfReplicas(const std::string& blob) const {
  double sum = 0;
  for (const std::string& scope : nets_.scopes) {
    sum += Scalar(scope + blob.substr(nets_.scope.size()));
  }
  return sum / static_cast<double>(nets_.scopes.size());
}

double Trainer::Scalar(const std::string& blob) const {
  Tensor copy(CPU);
  return *OnHost(ws_.GetBlob(blob)->Get<Tensor>(), &copy).data<float>();
}

}  // namespace caffe2
