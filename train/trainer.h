// The training loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "caffe2/core/workspace.h"
#include "train/checkpoint.h"
#include "train/evaluator.h"
#include "train/model_view.h"
#include "train/options.h"
#include "train/report.h"
#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// Runs one shard of a training run: builds the nets, joins the other shards, restores or
// initialises the parameters, then iterates. All it does to the parameters is done by the nets.
//
// All shards of a run agree, after every iteration, on whether to go on: they stop together when
// one of them was asked to, and fail together when one of them has a loss that is no number or
// exceeds kLargestLoss.
class Trainer {
 public:
  static constexpr double kLargestLoss = 40.0;

  // Asked after every iteration: non-zero ends the run of all shards; the number of a signal.
  using StopFunction = std::function<int()>;

  // Validates the options. The listener, if any, is told about the run (on every shard).
  explicit Trainer(const TrainOptions& options, std::shared_ptr<TrainListener> listener = nullptr,
                   StopFunction stop = nullptr);
  ~Trainer();

  // Trains to the end. Returns 0, or the number of the signal that ended the run before its time
  // (a checkpoint is written then too, if checkpoints are). Throws what went wrong; with several
  // shards, IoError with the line that all of them report.
  int Run();

  // After Run(): for tests.
  const Progress& progress() const { return progress_; }
  const TestReport& last_test() const { return last_test_; }
  Workspace* workspace() { return &ws_; }
  const TrainNets& nets() const { return nets_; }

 private:
  // What the shards tell each other after an iteration.
  struct Status {
    double loss = 0, accuracy = 0, accuracy_top5 = 0;  // means over the shards
    int stop = 0;                                      // largest signal
    int bad_shard = -1;                                // with a loss that is no number or too large
    double bad_loss = 0;
  };

  // Runs and times parts of the net that is to be trained, if that was asked for.
  FusionChoices TuneFusion(RecordKind kind);
  void SetUp();
  void PlaceNet();
  void LoadModel();
  int Loop();
  // True if the run must end after this epoch.
  bool RunEpoch();
  Status RunIteration();
  Status Exchange(double loss, double accuracy, double top5);
  void Report(const Status& status, bool last);
  void FinishEpoch();
  void Test();
  void Export();
  void Checkpoint();
  double WaitedForInput() const;  // seconds since the run began
  void SetState(const std::string& state);
  bool LimitReached() const;
  double Scalar(const std::string& blob) const;
  // Over the replicas of this shard, of a blob of the first one.
  double MeanOfReplicas(const std::string& blob) const;

  const TrainOptions options_;
  std::shared_ptr<TrainListener> listener_;
  StopFunction stop_;
  Workspace ws_;
  TrainNets nets_;
  std::unique_ptr<ShardRun> run_;
  std::unique_ptr<ModelView> view_;
  std::unique_ptr<Evaluator> evaluator_;
  Progress progress_;
  TestReport last_test_;
  ShardStatus shard_status_;
  Status pending_;  // sums since the last report
  double pending_seconds_ = 0;
  double waited_before_ = 0;  // of the reader, in seconds, at the last report
  int64_t pending_iterations_ = 0;
  int stop_signal_ = 0;
  int64_t checkpointed_at_ = -1;  // total iterations
  std::string saved_model_;       // the file this process exported last; "": none yet
};

}  // namespace caffe2
