#include "train/observe/tensorboard_log.h"

#include "caffe2/core/device_backend.h"
#include "caffe2/core/workspace.h"
#include "train/observe/png.h"
#include "train/train_nets.h"

namespace caffe2 {
namespace {

using tensorboard::Event;

void AddScalar(const std::string& tag, double value, Event* event) {
  auto* entry = event->mutable_summary()->add_value();
  entry->set_tag(tag);
  entry->set_simple_value(static_cast<float>(value));
}

}  // namespace

void TensorBoardLog::OnJoin(const RunIdentity& /*identity*/) { file_.emplace(directory_); }

void TensorBoardLog::OnStart(const StartReport& report) {
  run_ = report;
  step_ = histograms_at_ = report.total_iterations;
  Event event;
  event.set_graph_def(GraphOf(report.nets->train).SerializeAsString());
  file_->Append(step_, event);
  samples_.Watch(report);
}

void TensorBoardLog::OnIteration(const IterationReport& report) {
  step_ = report.total_iterations;
  WriteSamples();
  Event event;
  AddScalar("train/loss", report.loss, &event);
  AddScalar("train/accuracy", report.accuracy, &event);
  AddScalar("train/accuracy_top5", report.accuracy_top5, &event);
  AddScalar("train/learning_rate", report.learning_rate, &event);
  AddScalar("speed/images_per_second", report.job_images_per_second, &event);
  AddScalar("speed/input_wait", report.input_wait, &event);
  file_->Append(step_, event);
  if (histograms_every_ > 0 && step_ - histograms_at_ >= histograms_every_) WriteHistograms();
}

void TensorBoardLog::OnTest(const TestReport& report) {
  Event event;
  AddScalar("test/loss", report.loss, &event);
  AddScalar("test/accuracy", report.accuracy, &event);
  AddScalar("test/accuracy_top5", report.accuracy_top5, &event);
  file_->Append(report.total_iterations, event);
}

void TensorBoardLog::WriteSamples() {
  const std::vector<InputSample> samples = samples_.Take();
  if (samples.empty()) return;
  Event event;
  for (size_t i = 0; i < samples.size(); ++i) {
    const InputSample& sample = samples[i];
    auto* entry = event.mutable_summary()->add_value();
    entry->set_tag(MakeString("input/", i, sample.label < 0 ? "" : "_label_") +
                   (sample.label < 0 ? "" : std::to_string(sample.label)));
    auto* image = entry->mutable_image();
    image->set_height(sample.height);
    image->set_width(sample.width);
    image->set_colorspace(sample.channels);
    image->set_encoded_image_string(
        EncodePng(sample.pixels, sample.height, sample.width, sample.channels));
  }
  file_->Append(step_, event);
}

// Of the first replica: all replicas and shards have the same parameters.
void TensorBoardLog::WriteHistograms() {
  Event event;
  for (const std::string& name : run_.nets->params) {
    Tensor copy(CPU);
    const Tensor& host =
        OnHost(run_.workspace->GetBlob(run_.nets->scope + name)->Get<Tensor>(), &copy);
    if (!host.IsType<float>()) continue;
    auto* entry = event.mutable_summary()->add_value();
    entry->set_tag("parameters/" + name);
    *entry->mutable_histo() = HistogramOf(host.data<float>(), host.numel());
  }
  file_->Append(step_, event);
  histograms_at_ = step_;
}

}  // namespace caffe2
