// Checkpoints: the complete state of a run in one file, so that a resumed run is bit-identical.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/checkpoint.pb.h"
#include "train/background_save.h"
#include "train/kept_models.h"
#include "train/run_lock.h"
#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// The progress of a run.
struct Progress {
  int64_t total_iterations = 0;
  int epoch = 0;                 // counted from 0
  int64_t epoch_iterations = 0;  // done in this epoch
  int64_t epoch_images = 0;      // of all shards, in these iterations
  // The learning rate schedule adds this to its iteration counter (ShiftLearningRate).
  int64_t rate_offset = 0;
  // Sums over the iterations of this epoch.
  double loss_sum = 0;
  double accuracy_sum = 0;
  double seconds = 0;
  BestTest best;
  std::set<std::string> bad_records;  // BadRecordCount::known()
  std::vector<std::string> models;    // KeptModels::paths()
  std::string lineage;  // of the checkpoint from which the run goes on (train/kept_checkpoints.h)
};

// Saves checkpoints in the background: files with a checksum (SaveBlobs). Not thread-safe.
class CheckpointSaver {
 public:
  // `lock` is null on shards that do not write. All arguments must outlive this.
  CheckpointSaver(const TrainOptions& options, const TrainNets& nets, Workspace* ws, ShardRun* run,
                  const RunLock* lock);

  // Gathers the state of all shards, so every shard must call it. Shard 0 then copies parameters
  // and optimizer state to the host and returns; a background thread writes the file. Does not
  // change the state. First waits for the previous save, if that is still under way.
  //
  // If the file cannot be written (a full disk), logs a warning: the previous file is still there,
  // and training may go on. Throws Superseded if another run writes the file now.
  void Save(const Progress& progress);
  // Waits until the last save has ended. Throws IoError if it failed.
  void Finish() { save_.Finish(); }

 private:
  void Write(double held_seconds);  // runs in the thread

  const TrainOptions& options_;
  const TrainNets& nets_;
  Workspace* ws_;
  ShardRun* run_;
  const RunLock* lock_;
  std::string data_fingerprint_;   // of the training data at the start: later a read may hang
  const std::string new_lineage_;  // for a run whose progress has none
  const std::vector<std::string> shared_;  // blobs of the state that all shards share
  Workspace copies_;                       // of these blobs, and the header
  BackgroundSave save_;                    // last: its thread uses the others
};

struct LoadedCheckpoint {
  CheckpointProto state;
  std::string file;  // checkpoint_path, or the older checkpoint that was taken; as shard 0 saw it
};

// Reads a checkpoint; every shard must call it. Shard 0 reads parameters and optimizer state from
// the file into `ws`. Every shard gets the other contents, for RestoreShard.
//
// Takes the newest intact file of the run among the kept ones, and throws like NewestCheckpoint.
// Throws EnforceNotMet if the file has another format version or, listing the differences, if it is
// from a run with other settings. The layout may differ as far as LayoutConflict allows. A run that
// only tests (schedule.evaluate) compares only the settings for which IsTestSetting is true, and
// --holdout if it is given, and reads no optimizer state.
LoadedCheckpoint LoadCheckpoint(const std::string& path, const TrainOptions& options,
                                const TrainNets& nets, Workspace* ws, ShardRun* run);

// If another --num_epochs makes the learning rate differ from the run of the checkpoint, a line
// that says so; "" otherwise.
std::string DescribeOtherSchedule(const CheckpointProto& checkpoint, const TrainOptions& options);

// Restores the private state of this shard: running statistics, random state and data position. If
// the checkpoint is from a run with another layout (train/shard_states.h), logs what differs. Call
// it after the broadcast of the parameters, when the training net exists. Throws like
// StateInLayout.
void RestoreShard(const CheckpointProto& checkpoint, const TrainOptions& options,
                  const TrainNets& nets, Workspace* ws);
// For a run that only tests: sets the running statistics of every replica to the mean over all
// replicas in the checkpoint, which may have any number of shards.
void RestoreMeanStatistics(const CheckpointProto& checkpoint, const TrainNets& nets, Workspace* ws);
// The progress from which a run with these options continues. Throws EnforceNotMet if a number in
// the checkpoint is out of range.
Progress ProgressOf(const CheckpointProto& checkpoint, const TrainOptions& options);

}  // namespace caffe2
