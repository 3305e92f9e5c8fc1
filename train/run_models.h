// The model files that a run writes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "train/checkpoint.h"
#include "train/kept_models.h"
#include "train/model_exporter.h"
#include "train/model_view.h"
#include "train/options.h"
#include "train/report.h"
#include "train/run_lock.h"
#include "train/shard_run.h"

namespace caffe2 {

// Writes the models of a run, one for each epoch and the best one, and removes the ones that
// --keep_models leaves out. Only the writer of the run (ShardRun::IsWriter) touches files. Without
// a name for models all functions do nothing. Not thread-safe.
class RunModels {
 public:
  // Both must outlive this.
  RunModels(const TrainOptions& options, ShardRun* run);

  // The writer takes the lock of its models. Throws like RunLock.
  void Lock();
  // After a resume: the models that the run wrote before and keeps, the oldest first.
  void Restore(const std::vector<std::string>& paths);
  // For a run that starts anew with `first_epoch`, counted from 0: logs a warning if it will
  // replace models that are there.
  void WarnOfEarlier(int first_epoch) const;
  // After a resume at the end of an epoch: the models of that epoch, if one of them was not written
  // although the checkpoint was. All shards must call it together.
  std::vector<std::string> FindMissing(const Progress& progress);

  // The model of an epoch that has ended, of which `best` is true if its test was the best so far.
  std::vector<std::string> PathsAfter(int finished_epochs, bool best) const;
  // Copies the model and writes it to each of the paths while training goes on. All shards must
  // call it together. Throws like ModelExporter::Export and Lock.
  void Export(ModelView* view, const std::vector<std::string>& paths);
  // Tells the listener what was written since the last call, and removes models that are not kept.
  void NoteWritten(TrainListener* listener);
  // Waits until the last model is written. Throws IoError if that failed.
  void Finish();

  // The models of every epoch that are kept, the oldest first.
  const std::deque<std::string>& kept() const { return kept_.paths(); }

 private:
  const TrainOptions& options_;
  ShardRun* const run_;
  std::unique_ptr<RunLock> lock_;            // null if this process writes no models
  std::unique_ptr<ModelExporter> exporter_;  // the same
  KeptModels kept_;
};

}  // namespace caffe2
