#include "train/model_exporter.h"

#include <chrono>
#include <utility>

#include "caffe2/utils/seconds_since.h"
#include "train/run_settings.h"
#include "train/train_nets.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

std::map<std::string, std::string> InputInfo(const TrainOptions& options, int generation) {
  std::map<std::string, std::string> info = {
      {"generation", MakeString(generation)},
      {"image_size", MakeString(options.model.shape.image_size)},
      {"image_scale", MakeString(options.ImageScale())},
      {"num_channels", MakeString(options.model.shape.num_channels)},
      {"order", options.model.order},
      {"mean", CommaList(options.data.mean)},
      {"std", CommaList(options.data.std)},
      {"network", options.model.network},
      {"num_labels", MakeString(options.model.shape.num_labels)}};
  if (options.model.shape.small_stem) info["small_stem"] = "true";
  if (options.model.network == "mlp") info["hidden"] = CommaList(options.model.shape.hidden);
  std::string names;
  for (const std::string& name : options.data.class_names) names += name + "\n";
  if (!names.empty()) info[kClassNames] = names;
  return info;
}

}  // namespace

PredictorExportMeta ExportMetaOf(const TrainOptions& options, int generation) {
  const InferenceNets nets = BuildPredictorNets(options);
  const int64_t side = options.model.shape.image_size, channels = options.model.shape.num_channels;
  PredictorExportMeta meta;
  meta.predict_net = nets.net;
  meta.parameters = nets.params;
  meta.inputs = {"data"};
  meta.outputs = {nets.softmax};
  meta.shapes["data"] = options.model.order == "NCHW"
                            ? std::vector<int64_t>{1, channels, side, side}
                            : std::vector<int64_t>{1, side, side, channels};
  meta.application_info = InputInfo(options, generation);
  return meta;
}

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
