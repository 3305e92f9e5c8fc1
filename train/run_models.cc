#include "train/run_models.h"

#include <unistd.h>

#include <algorithm>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

bool IsMissing(const std::string& path) { return access(path.c_str(), F_OK) != 0; }

}  // namespace

RunModels::RunModels(const TrainOptions& options, ShardRun* run)
    : options_(options), run_(run), kept_(options.output.keep_models) {}

void RunModels::Lock() {
  if (!options_.output.model_path || !run_->IsWriter()) return;
  lock_ = std::make_unique<RunLock>(options_.output.model_path(0), run_->identity());
  exporter_ = std::make_unique<ModelExporter>(lock_.get());
}

void RunModels::Restore(const std::vector<std::string>& paths) {
  if (!run_->IsWriter()) return;
  for (const std::string& path : paths) kept_.Add(path);
}

void RunModels::WarnOfEarlier(int first_epoch) const {
  const OutputOptions& output = options_.output;
  if (!output.model_path || !run_->IsWriter()) return;
  std::vector<std::string> paths;
  for (int epoch = first_epoch + 1; epoch <= options_.schedule.num_epochs; ++epoch) {
    paths.push_back(output.model_path(epoch));
  }
  if (output.keep_best) paths.push_back(output.best_model_path);
  const auto found = std::find_if_not(paths.begin(), paths.end(), IsMissing);
  if (found == paths.end()) return;
  LOG(WARNING) << "this run will replace models that are there, as " << *found
               << "; another name for its models keeps them";
}

std::vector<std::string> RunModels::FindMissing(const Progress& progress) {
  if (!options_.output.model_path) return {};
  if (progress.epoch == 0 || progress.epoch_iterations > 0) return {};
  const auto paths = PathsAfter(progress.epoch, progress.best.epoch == progress.epoch - 1);
  // The last checkpoint may be older than its model.
  if (run_->IsWriter() && !IsMissing(paths[0])) kept_.Add(paths[0]);
  const bool any = run_->IsWriter() && std::any_of(paths.begin(), paths.end(), IsMissing);
  if (run_->Broadcast(any ? "missing" : "").empty()) return {};
  return paths;
}

std::vector<std::string> RunModels::PathsAfter(int finished_epochs, bool best) const {
  const OutputOptions& output = options_.output;
  if (!output.model_path) return {};
  std::vector<std::string> paths = {output.model_path(finished_epochs)};
  if (best && output.keep_best) paths.push_back(output.best_model_path);
  return paths;
}

void RunModels::Export(ModelView* view, const std::vector<std::string>& paths) {
  view->Refresh();
  if (!run_->IsWriter()) return;
  if (!lock_) Lock();  // the worker that wrote models before is lost
  exporter_->Export(ExportMetaOf(options_, run_->identity().generation), *view->workspace(), paths);
}

void RunModels::NoteWritten(TrainListener* listener) {
  if (!exporter_) return;
  for (const std::string& path : exporter_->TakeWritten()) {
    if (path != options_.output.best_model_path) kept_.Add(path);
    listener->OnModelSaved(path);
  }
}

void RunModels::Finish() {
  if (exporter_) exporter_->Finish();
}

}  // namespace caffe2
