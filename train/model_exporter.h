// Exports the model of a run while training goes on.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "train/background_save.h"
#include "train/options.h"
#include "train/predictor.h"
#include "train/run_lock.h"

namespace caffe2 {

// The description of a model that such a run exports: nets, parameters, how to prepare images, and
// the generation of the run.
PredictorExportMeta ExportMetaOf(const TrainOptions& options, int generation);

// Not thread-safe.
class ModelExporter {
 public:
  // `lock` must outlive this.
  explicit ModelExporter(const RunLock* lock) : lock_(lock) {}

  // Copies the parameters of `meta` from `ws` to the host and returns; a background thread writes
  // the model to each of the paths. First waits for the previous export, if that is still under
  // way. The copy stays allocated.
  //
  // If a file cannot be written (a full disk), logs a warning: training may go on. Throws
  // Superseded if another run writes the models now.
  void Export(const PredictorExportMeta& meta, const Workspace& ws,
              const std::vector<std::string>& paths);
  // The paths written since the last call, in order. Does not wait for an export.
  std::vector<std::string> TakeWritten();
  // Waits until the last export has ended. Throws IoError if it failed.
  void Finish() { save_.Finish(); }

 private:
  // Runs in the thread.
  void Write(const PredictorExportMeta& meta, const std::vector<std::string>& paths,
             double held_seconds);

  const RunLock* lock_;
  Workspace copies_;
  std::mutex mutex_;  // guards written_
  std::vector<std::string> written_;
  BackgroundSave save_;  // last: its thread uses the others
};

}  // namespace caffe2
