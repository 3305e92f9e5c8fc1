// Checkpoints: the complete state of a run in one file, so that it continues exactly to the bit.
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
  int64_t epoch_images = 0;      // of all shards in them
  // Added to the counter of iterations for the learning rate (ShiftLearningRate).
  int64_t rate_offset = 0;
  // Sums over the iterations of this epoch.
  double loss_sum = 0;
  double accuracy_sum = 0;
  double seconds = 0;
  BestTest best;
  std::set<std::string> bad_records;  // BadRecordCount::known()
};

// Saves checkpoints in the background: files with a checksum (SaveBlobs). Not thread-safe.
class CheckpointSaver {
 public:
  // `lock` is null on shards that do not write. All arguments must outlive this.
  CheckpointSaver(const TrainOptions& options, const TrainNets& nets, Workspace* ws, ShardRun* run,
                  const RunLock* lock);

  // Gathers the state of all shards, so every shard must call it. Shard 0 then copies parameters
  // and optimizer state, on the host, and returns; a thread of its own writes the file. Does not
  // change the state. Waits for the save before, if that is still under way.
  //
  // If the file cannot be written (a full disk), logs a warning: the file before is still there,
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
  const std::vector<std::string> shared_;  // blobs of the state that all shards share
  Workspace copies_;                       // of these blobs, and the header
  BackgroundSave save_;                    // last: its thread uses the others
};

// True if there is a checkpoint at `path`, or a kept one at "<path>.1".
bool HasCheckpoint(const std::string& path);

// Reads a checkpoint; every shard must call it. Shard 0 reads parameters and optimizer state from
// the file into `ws`. Every shard gets the other contents, for RestoreShard.
//
// Takes the newest of the files that keep_checkpoints keeps that is whole, and logs a warning for
// each that it passes over. Throws IoError if none is whole; EnforceNotMet, with the differences,
// if the file is from a run with other settings; the number of shards and their batches may differ
// if the batch of all shards is the same. For a run that only tests (schedule.evaluate) the
// settings of the network and its images count, and no optimizer state is read.
CheckpointProto LoadCheckpoint(const std::string& path, const TrainOptions& options,
                               const TrainNets& nets, Workspace* ws, ShardRun* run);

// Restores the private state of this shard: running statistics, random state and data position. If
// the checkpoint is from a run in another layout (train/shard_states.h), logs what differs. Call it
// after the broadcast of the parameters, when the training net exists. Throws as StateInLayout.
void RestoreShard(const CheckpointProto& checkpoint, const TrainOptions& options,
                  const TrainNets& nets, Workspace* ws);
// For a run that only tests: sets the running statistics of every replica to the mean over the
// shards of the checkpoint, of which there may be any number.
void RestoreMeanStatistics(const CheckpointProto& checkpoint, const TrainNets& nets, Workspace* ws);
// Where a run with these options goes on. Throws EnforceNotMet for a checkpoint that says something
// impossible.
Progress ProgressOf(const CheckpointProto& checkpoint, const TrainOptions& options);

}  // namespace caffe2
