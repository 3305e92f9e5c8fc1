#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "caffe2/core/device_backend.h"
#include "caffe2/utils/seconds_since.h"
#include "caffe2/utils/trace.h"
#include "caffe2/utils/waiting_time.h"
#include "distributed/collective.h"
#include "train/bad_loss.h"
#include "train/evaluation.h"
#include "train/kept_checkpoints.h"
#include "train/load_model.h"
#include "train/run_settings.h"
#include "train/stopped_early.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

// After a read or write that hangs: for telling the other shards, and for the destructors, which
// may wait for the thread that reads.
constexpr double kSecondsToReport = 10, kSecondsToUnwind = 2;
constexpr double kSecondsToShow = 1;  // progress that is not logged

RecordKind KindOf(const TrainOptions& options, const std::string& source) {
  return source == kSyntheticData ? RecordKind::kDatum : RecordKindOf(options.data.db_type, source);
}

// With parameter servers one worker tests all images.
TrainOptions TestOptions(TrainOptions options) {
  if (options.shards.HasServers()) {
    options.shards.num_shards = 1;
    options.shards.shard_id = 0;
  }
  return options;
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, std::shared_ptr<TrainListener> listener,
                 StopFunction stop)
    : watchdog_(stop && options.end_process
                    ? std::make_unique<StopWatchdog>(
                          [this, stop] {
                            const int own = stop();
                            return own != 0 ? own : stop_signal_.load();
                          },
                          [end = options.end_process](const std::string& reason, int signal) {
                            end(0, reason, signal);
                          })
                    : nullptr),
      options_(Prepare(options, stop)),
      test_options_(TestOptions(options_)),
      listener_(std::move(listener)),
      stop_(std::move(stop)) {
  if (!listener_) listener_ = std::make_shared<TrainListener>();
}

Trainer::~Trainer() {
  if (watchdog_) watchdog_->Dismiss();  // it uses other members
}

int Trainer::Run() {
  try {
    TrainOptions options = options_;
    if (watchdog_) options.shards.on_joined = [this] { watchdog_->WatchSetUp(); };
    run_ = std::make_unique<ShardRun>(options, &ws_);
    models_ = std::make_unique<RunModels>(options_, run_.get());
  } catch (const StoppedEarly& stopped) {
    LOG(INFO) << stopped.what();
    return stopped.signal();
  }
  try {
    LockOutputs();
    writes_files_ = run_->IsWriter();
    listener_->OnJoin(run_->identity());
    const RecordKind kind = KindOf(options_, options_.data.train_data);
    nets_ = BuildTrainNets(options_, kind);
    SetUp();
    const int signal = options_.schedule.evaluate ? Evaluate() : Loop();
    SetState("finished");
    const std::string failure = run_->Leave();
    // This shard has done its part, but shard 0 may have died before it wrote the last model.
    if (signal == 0 && !failure.empty()) ThrowIoError(ExitCode::kPeerLost, failure);
    return signal;
  } catch (const std::exception& error) {
    if (watchdog_ && watchdog_->gave_up()) return StopWithoutInput(error);
    if (run_->membership() == nullptr) throw;
    const std::string line = run_->ReportFailure(error);
    const ExitCode code = ExitCodeOf(error);
    // Several shards may have been asked to stop, of which the first to give up ends the run. The
    // line is in the log. A loss that exploded, or parameters that differ, end it with their code.
    const int signal = stop_ ? stop_() : 0;
    if (signal != 0 && IsPeerError(error) && code == ExitCode::kPeerLost) return signal;
    ThrowIoError(code, line);
  }
}

// With auto_resume shard 0 decides for all, because others may not see its files.
bool Trainer::Resumes() {
  if (!options_.output.auto_resume) return options_.output.resume;
  const bool exists = run_->IsWriter() && HasCheckpoint(options_.output);
  return !run_->Broadcast(exists ? "resume" : "").empty();
}

// Before anything is read: afterwards no earlier generation of the run can change the files.
void Trainer::LockOutputs() {
  if (!run_->IsWriter()) return;
  const OutputOptions& output = options_.output;
  if (output.WritesCheckpoints()) {
    checkpoint_lock_ = std::make_unique<RunLock>(output.checkpoint_path, run_->identity());
  }
  models_->Lock();
}

void Trainer::SetUp() {
  CAFFE_ENFORCE(ws_.RunNetOnce(nets_.init), "the net that makes the first parameters failed");
  const bool averages = options_.model.ema_decay > 0;
  // Before the checkpoint is loaded, which needs the blobs.
  if (averages)
    CAFFE_ENFORCE(ws_.RunNetOnce(nets_.ema.start), "the net that starts the moving average failed");
  LoadedCheckpoint checkpoint;
  const bool resumes = Resumes();
  if (resumes) {
    checkpoint = LoadCheckpoint(options_.output.checkpoint_path, options_, nets_, &ws_, run_.get());
  } else if (!options_.output.load_model_path.empty() && run_->IsWriter()) {
    LoadModel(options_, nets_, &ws_);
  }
  CAFFE_ENFORCE(ws_.RunNetOnce(nets_.broadcast), "the broadcast of the parameters failed");
  progress_.epoch = options_.output.load_epoch;
  if (resumes) {
    progress_ = ProgressOf(checkpoint.state, options_);
    if (checkpoint.file == options_.output.checkpoint_path) {
      checkpointed_at_ = progress_.total_iterations;  // it is on the disk already
    }
    models_->Restore(progress_.models);
    ShiftLearningRate(progress_.rate_offset, &nets_.train);
  } else if (averages) {
    // Again, from what was loaded and broadcast.
    CAFFE_ENFORCE(ws_.RunNetOnce(nets_.ema.start), "the net that starts the moving average failed");
  }
  started_at_ = progress_.total_iterations;
  if (!options_.schedule.evaluate) {
    SetUpLoop(resumes ? &checkpoint : nullptr);
  } else if (resumes) {
    RestoreMeanStatistics(checkpoint.state, nets_, &ws_);
  }
  view_ = std::make_unique<ModelView>(nets_, &ws_, run_.get());
  if (!options_.data.test_data.empty()) {
    evaluator_ = std::make_unique<Evaluator>(
        test_options_, KindOf(options_, options_.data.test_data), view_.get(), run_.get());
  }
  if (resumes && !options_.schedule.evaluate) ExportMissing();
}

// The checkpoint of an epoch's end may have been written, and its models not: the process was
// killed, or a disk was full. The parameters are still the ones of that moment.
void Trainer::ExportMissing() {
  const std::vector<std::string> paths = models_->FindMissing(progress_);
  if (paths.empty()) return;
  LOG(INFO) << "A model of the last epoch is missing: writing it again";
  models_->Export(view_.get(), paths);
}

// Says which files of an earlier run a run that starts anew will replace.
void Trainer::WarnOfEarlierFiles() const {
  const OutputOptions& output = options_.output;
  if (output.WritesCheckpoints() && HasCheckpoint(output)) {
    LOG(WARNING) << "this run begins anew: its first checkpoint will replace "
                 << output.checkpoint_path << "; with --resume it would go on from there";
  }
  models_->WarnOfEarlier(static_cast<int>(progress_.epoch));
}

// `resumed` is null for a run that starts anew.
void Trainer::SetUpLoop(const LoadedCheckpoint* resumed) {
  PlaceTrainNet(nets_, &ws_);
  if (options_.shards.HasServers()) {
    servers_ = std::make_unique<ParameterWorker>(options_, nets_, &ws_, run_.get());
  }
  ws_.CreateNet(nets_.train);
  if (nets_.average.op_size() > 0) ws_.CreateNet(nets_.average);
  if (options_.model.ema_decay > 0) {
    moving_average_ =
        std::make_unique<ModelAverage>(nets_.ema, nets_.scopes, options_.devices, &ws_,
                                       options_.model.ema_decay, options_.model.ema_every);
    LOG(INFO) << "Tests and saved models use the moving average of the model (--ema_decay "
              << options_.model.ema_decay << ")";
  }
  if (resumed) {
    RestoreShard(resumed->state, options_, nets_, &ws_);
    LOG(INFO) << "Resumed from " << resumed->file << ": iteration " << progress_.total_iterations
              << ", epoch " << progress_.epoch;
    const std::string schedule = DescribeOtherSchedule(resumed->state, options_);
    if (!schedule.empty() && run_->IsWriter()) LOG(WARNING) << schedule;
  }
  if (!resumed && run_->IsWriter()) WarnOfEarlierFiles();
  if (options_.output.WritesCheckpoints()) {
    saver_ = std::make_unique<CheckpointSaver>(options_, nets_, &ws_, run_.get(),
                                               checkpoint_lock_.get());
  }
  if (options_.schedule.check_parameters_every > 0 && run_->num_shards() > 1) {
    parameter_check_ = std::make_unique<ParameterCheck>(nets_, &ws_, run_.get());
  }
  if (db::DBReader* reader = records_.reader()) {
    bad_records_ = std::make_unique<BadRecordCount>(options_.data.max_bad_records,
                                                    progress_.bad_records, reader, run_.get());
    if (options_.data.check_coverage) {
      coverage_check_ = std::make_unique<CoverageCheck>(reader, run_.get());
    }
  }
  if (!options_.output.trace_path.empty()) {
    trace_ = std::make_unique<RunTrace>(options_, nets_, &ws_, run_.get());
  }
  records_.LogEpochSize(options_);
  if (watchdog_) {
    watchdog_->WatchRun([this] { ws_.RequestStop(); },
                        [this](int signal, const std::string& what) { EndInWrite(signal, what); });
  }
  listener_->OnStart(ReportOfStart());
}

StartReport Trainer::ReportOfStart() {
  return {.options = &options_,
          .nets = &nets_,
          .workspace = &ws_,
          .identity = run_->identity(),
          .epoch = static_cast<int>(progress_.epoch),
          .total_iterations = progress_.total_iterations};
}

bool Trainer::LimitReached() const {
  const int64_t limit = options_.schedule.max_iterations;
  return stop_signal_ != 0 || (limit > 0 && progress_.total_iterations >= limit) || EndsEarly();
}

bool Trainer::EndsEarly() const {
  return progress_.best.IsOverdue(progress_.epoch - 1, options_.schedule.patience);
}

int Trainer::Loop() {
  bool ended = LimitReached();
  if (ended || progress_.epoch >= options_.schedule.num_epochs) {
    LOG(INFO) << "Nothing is left to do: " << progress_.total_iterations << " iterations, "
              << progress_.epoch << " epochs are done; a larger --num_epochs or --max_iterations "
              << "goes on";
  }
  while (!ended && progress_.epoch < options_.schedule.num_epochs) ended = RunEpoch();
  if (trace_) trace_->Finish();
  const bool stopped = stop_signal_ != 0;
  const bool saves = stopped ? saver_ != nullptr : options_.output.checkpoint_every > 0;
  if (saves && checkpointed_at_ != progress_.total_iterations) Checkpoint();
  // There is no exchange any more: shard 0 alone still writes files.
  if (!servers_ && run_->IsWriter()) run_->NoteOthersDone();
  if (saver_) saver_->Finish();
  if (servers_) servers_->Finish();
  models_->Finish();
  models_->NoteWritten(listener_.get());
  if (stopped) LogStop();
  return stop_signal_;
}

void Trainer::LogStop() const {
  const TimedWait wait(WaitFor::kLog);
  const std::string what =
      MakeString("Stopped by signal ", stop_signal_.load(), " (", strsignal(stop_signal_),
                 ") after ", progress_.total_iterations, " iterations");
  if (saver_) {
    LOG(INFO) << what << ": the run is saved in " << options_.output.checkpoint_path
              << ", --resume goes on with it";
  } else {
    LOG(WARNING) << what << ": the work since the last saved model is lost, because "
                 << (servers_ ? "runs with parameter servers have no checkpoints"
                              : "neither --checkpoint_path nor a name for models says where to "
                                "save the run");
  }
}

int Trainer::StopWithoutInput(const std::exception& error) {
  if (const int own = stop_(); own != 0) stop_signal_ = own;
  const std::string reason = MakeString("stopped by signal ", stop_signal_.load(),
                                        " while a read of the input hung: ", error.what());
  if (run_->membership() != nullptr) {
    options_.end_process(kSecondsToReport, reason, stop_signal_);
    run_->ReportFailure(Error(reason));
    LOG(WARNING) << "The work since the last checkpoint is lost: the other shards cannot take part "
                 << "in another one";
    return stop_signal_;
  }
  ws_.ClearStop();
  LOG(WARNING) << reason;
  // The first operator of an iteration waits for its input. If it has not taken a batch, nothing
  // has changed since the iteration before.
  if (records_.Taken() != taken_before_) {
    LOG(WARNING) << "Not saved: the replicas of this shard are in the midst of an iteration";
    saver_.reset();
  } else if (saver_) {
    SaveCheckpoint();
    saver_->Finish();
  }
  LogStop();
  options_.end_process(kSecondsToUnwind, reason, stop_signal_);
  return stop_signal_;
}

// The log may be what hangs, so it comes last.
void Trainer::EndInWrite(int signal, const std::string& what) {
  const std::string reason =
      MakeString("stopped by signal ", signal, " while a write of ", what, " hung");
  const bool has_peers = run_->membership() != nullptr;
  options_.end_process(has_peers ? kSecondsToReport : kSecondsToUnwind, reason, signal);
  if (has_peers) run_->ReportFailure(Error(reason));
  LOG(WARNING) << reason << ": the work since the last whole checkpoint is lost";
}

// Tests the model that was loaded.
int Trainer::Evaluate() {
  // The report names the last epoch that the model has finished.
  if (progress_.epoch_iterations == 0 && progress_.epoch > 0) --progress_.epoch;
  Test();
  LOG(INFO) << DescribeEvaluation(options_, last_test_);
  return 0;
}

bool Trainer::RunEpoch() {
  listener_->OnEpochStart(progress_.epoch, options_.schedule.num_epochs);
  shard_status_.epoch = progress_.epoch;
  shard_status_.iteration = progress_.epoch_iterations;
  SetState("training");
  const int64_t every = options_.output.checkpoint_every;
  while (IterationsLeft() > 0 && !LimitReached()) {
    if (trace_) trace_->BeforeIteration(progress_.total_iterations + 1);
    const IterationStatus status = RunIteration();
    if (trace_) trace_->AfterIteration(progress_.total_iterations);
    const bool last = IterationsLeft() == 0 || LimitReached();
    Report(status, last);
    CheckParameters(status);
    models_->NoteWritten(listener_.get());
    // At the end of an epoch, the checkpoint is written after FinishEpoch().
    if (every > 0 && progress_.total_iterations % every == 0 && IterationsLeft() > 0) Checkpoint();
  }
  if (stop_signal_ != 0) return true;
  FinishEpoch();
  if (every > 0 && progress_.total_iterations % every == 0 &&
      checkpointed_at_ != progress_.total_iterations) {
    Checkpoint();
  }
  return LimitReached();
}

IterationStatus Trainer::RunIteration() {
  const TracedSpan span("iteration", "iteration", MakeString(progress_.total_iterations + 1));
  const auto start = Clock::now();
  const double input = WaitedSeconds(WaitFor::kInput), shards = WaitedSeconds(WaitFor::kShards);
  taken_before_ = records_.Taken();
  CAFFE_ENFORCE(ws_.RunNet(nets_.train.name()), "the training net failed");
  taken_before_ = records_.Taken();
  ++progress_.total_iterations;
  ++progress_.epoch_iterations;
  progress_.epoch_images += options_.BatchOfAllShards();
  ShardIterations& own = unexchanged_;
  own.loss += MeanOfReplicas(nets_.loss);
  own.accuracy += MeanOfReplicas(nets_.accuracy);
  own.accuracy_top5 += nets_.accuracy_top5.empty() ? 1.0 : MeanOfReplicas(nets_.accuracy_top5);
  ++own.iterations;
  IterationStatus status;
  if (IsExchangeDue()) {
    if (nets_.average.op_size() > 0) {
      CAFFE_ENFORCE(ws_.RunNet(nets_.average.name()), "the average of the parameters failed");
    }
    status = Exchange(std::exchange(own, {}));
  } else {
    run_->ThrowIfFailed();
  }
  if (status.bad_shard >= 0) {
    const std::string when =
        MakeString("iteration ", progress_.epoch_iterations, " of epoch ", progress_.epoch);
    ThrowBadLoss(status.bad_shard, status.bad_loss, when, nets_, ws_, run_.get());
  }
  if (servers_) status.stop = ExchangeWithServers();
  if (moving_average_ && status.iterations > 0) {
    moving_average_->Step(progress_.total_iterations, status.iterations);
  }
  const auto n = static_cast<double>(status.iterations);
  progress_.loss_sum += n * status.loss;
  progress_.accuracy_sum += n * status.accuracy;
  const double seconds = SecondsSince(start);
  progress_.seconds += seconds;
  means_.AddSeconds(seconds);
  ++unsent_.iterations;
  unsent_.all += seconds;
  unsent_.input += WaitedSeconds(WaitFor::kInput) - input;
  unsent_.exchanging += WaitedSeconds(WaitFor::kShards) - shards;
  stop_signal_ = status.stop;
  return status;
}

// After the last iteration of the run it waits for the other workers, so that the last test and the
// last model have the updates of all.
int Trainer::ExchangeWithServers() {
  const int signal = servers_->Step(stop_ ? stop_() : 0);
  const bool last = progress_.epoch + 1 == options_.schedule.num_epochs && IterationsLeft() == 0;
  if (signal != 0 || last || LimitReached()) servers_->Finish();
  TakeOverFiles();
  shard_status_.more["staleness"] = MakeString(servers_->staleness());
  return signal;
}

void Trainer::TakeOverFiles() {
  if (writes_files_ || !run_->IsWriter()) return;
  writes_files_ = true;
  LOG(WARNING) << "The workers before " << run_->DescribeShard(0)
               << " are lost: it writes models and records from now on"
               << (options_.output.model_path && options_.output.keep_models > 0
                       ? ", and --keep_models removes no models of theirs"
                       : "");
  listener_->OnTakeOver(ReportOfStart());
}

bool Trainer::IsExchangeDue() const {
  const ScheduleOptions& schedule = options_.schedule;
  return schedule.sync_every == 0 || progress_.total_iterations % schedule.sync_every == 0 ||
         IterationsLeft() == 0 || progress_.total_iterations == schedule.max_iterations;
}

IterationStatus Trainer::Exchange(ShardIterations own) {
  own.stop = stop_ ? stop_() : 0;
  own.seconds = std::exchange(unsent_, {});
  own.new_bad_records = bad_records_ ? bad_records_->CountNew() : 0;
  IterationStatus status = ExchangeIterations(own, kMaxLoss, run_.get());
  if (status.new_bad_records > 0) {
    bad_records_->Share();
    progress_.bad_records = bad_records_->known();
  }
  return status;
}

// Local SGD keeps the parameters equal only right after an exchange.
void Trainer::CheckParameters(const IterationStatus& status) {
  const int64_t every = options_.schedule.check_parameters_every, now = progress_.total_iterations;
  if (!parameter_check_ || now / every == (now - status.iterations) / every) return;
  parameter_check_->Run(now);
}

void Trainer::Report(const IterationStatus& status, bool last) {
  if (status.iterations == 0) return;
  means_.Add(status);
  shard_status_.epoch = progress_.epoch;
  shard_status_.iteration = progress_.epoch_iterations;
  run_->UpdateStatus(shard_status_);
  const int64_t every = options_.output.log_every, now = progress_.total_iterations;
  const bool due = now / every > (now - status.iterations) / every;
  if (!due && !last && SecondsSince(shown_) < kSecondsToShow) return;
  shown_ = std::chrono::steady_clock::now();
  const int64_t batch = options_.schedule.batch_size;
  const bool logs = due || last;
  IterationReport report = logs ? means_.Take(batch, run_->num_shards(), records_.WaitedSeconds())
                                : means_.Peek(batch, run_->num_shards(), records_.WaitedSeconds());
  report.epoch = progress_.epoch;
  report.iteration = progress_.epoch_iterations;
  report.epoch_iterations = progress_.epoch_iterations + IterationsLeft();
  report.total_iterations = progress_.total_iterations;
  report.learning_rate = LearningRate();
  if (!logs) return listener_->OnProgress(report);
  listener_->OnIteration(report);
  shard_status_.images_per_second = report.images_per_second;
  shard_status_.loss = report.loss;
  run_->UpdateStatus(shard_status_);
}

// Called after the last iteration of an epoch, or of a run that ends within an epoch.
void Trainer::FinishEpoch() {
  if (coverage_check_) {
    const int64_t taken = (progress_.total_iterations - started_at_) * options_.BatchOfAllShards();
    coverage_check_->Report(taken, static_cast<int64_t>(progress_.bad_records.size()));
  }
  if (evaluator_ && (!servers_ || run_->IsWriter())) Test();
  const auto n = static_cast<double>(std::max<int64_t>(progress_.epoch_iterations, 1));
  EpochReport report;
  report.epoch = progress_.epoch;
  report.num_epochs = options_.schedule.num_epochs;
  report.loss = progress_.loss_sum / n;
  report.accuracy = progress_.accuracy_sum / n;
  report.seconds = progress_.seconds;
  report.images = progress_.epoch_images;
  report.learning_rate = LearningRate();
  report.total_iterations = progress_.total_iterations;
  if (evaluator_ && last_test_.images > 0) report.test_accuracy = last_test_.accuracy;
  listener_->OnEpochEnd(report);
  if (IterationsLeft() > 0) {
    ExportUnfinished();
    return;
  }
  ++progress_.epoch;
  progress_.epoch_iterations = progress_.epoch_images = 0;
  progress_.loss_sum = progress_.accuracy_sum = progress_.seconds = 0;
  ExportModels();
  if (EndsEarly()) {
    LOG(INFO) << "Ending early: --patience " << options_.schedule.patience
              << " epochs without a better test accuracy than " << progress_.best.accuracy
              << " after epoch " << progress_.best.epoch;
  }
}

void Trainer::Test() {
  SetState("testing");
  const TracedSpan span("test", "test");
  last_test_ = evaluator_->Run();
  last_test_.epoch = progress_.epoch;
  last_test_.total_iterations = progress_.total_iterations;
  last_test_.best_accuracy = std::max(progress_.best.accuracy, last_test_.accuracy);
  listener_->OnTest(last_test_);
}

void Trainer::ExportModels() {
  const bool better = evaluator_ && progress_.best.Update(last_test_.accuracy, last_test_.epoch);
  if (!options_.output.model_path) return;
  SetState("saving");
  const TracedSpan span("save", "copy the model");
  models_->Export(view_.get(), models_->PathsAfter(progress_.epoch, better));
}

// After --max_iterations, which ended the run within an epoch. Its test does not count for
// --keep_best and --patience: a resumed run tests the whole epoch.
void Trainer::ExportUnfinished() {
  const OutputOptions& output = options_.output;
  if (!output.model_path) return;
  const std::string path = output.model_path(progress_.epoch + 1);
  LOG(INFO) << "--max_iterations " << options_.schedule.max_iterations << " ends the run after "
            << progress_.epoch_iterations << " of " << progress_.epoch_iterations + IterationsLeft()
            << " iterations of epoch " << progress_.epoch << "; its model is " << path;
  SetState("saving");
  models_->Export(view_.get(), {path});
}

void Trainer::SaveCheckpoint() {
  progress_.models.assign(models_->kept().begin(), models_->kept().end());
  saver_->Save(progress_);
}

void Trainer::Checkpoint() {
  SetState("saving");
  const TracedSpan span("save", "copy the state for a checkpoint");
  SaveCheckpoint();
  checkpointed_at_ = progress_.total_iterations;
  SetState("training");
}

void Trainer::SetState(const std::string& state) {
  shard_status_.state = state;
  run_->UpdateStatus(shard_status_);
  listener_->OnState(state);
}

// 0 if an epoch ends before this process has run an iteration.
double Trainer::LearningRate() const {
  if (!ws_.GetBlob(nets_.learning_rate)->IsType<Tensor>()) return 0;
  return std::abs(Scalar(nets_.learning_rate));
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
