#include "train/model_exporter.h"

#include <chrono>
#include <utility>

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void ModelExporter::Export(const PredictorExportMeta& meta, const Workspace& ws,
                           const std::vector<std::string>& paths) {
  const auto start = Clock::now();
  save_.WaitForLast();
  for (const std::string& name : meta.parameters) {
    BlobGetMutableTensor(copies_.CreateBlob(name), Device{})
        ->CopyFrom(ws.GetBlob(name)->Get<Tensor>());
  }
  save_.Start([this, meta, paths, held = SecondsSince(start)] { Write(meta, paths, held); },
              "A model was not written: ");
}

void ModelExporter::Write(const PredictorExportMeta& meta, const std::vector<std::string>& paths,
                          double held_seconds) {
  for (const std::string& path : paths) {
    const auto start = Clock::now();
    SavePredictor(meta, &copies_, {path, lock_});
    LOG(INFO) << "Wrote model " << path << ": training waited " << held_seconds
              << " s, writing took " << SecondsSince(start) << " s";
    const std::lock_guard<std::mutex> lock(mutex_);
    written_.push_back(path);
  }
}

std::vector<std::string> ModelExporter::TakeWritten() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(written_, {});
}

}  // namespace caffe2
