#include "train/observe/input_samples.h"

#include <algorithm>
#include <cmath>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/net.h"
#include "caffe2/core/net_observer.h"
#include "caffe2/core/workspace.h"
#include "caffe2/utils/narrow_float.h"
#include "train/options.h"
#include "train/train_nets.h"

namespace caffe2 {
namespace {

// The tensor as floats; empty for other types.
std::vector<float> FloatsOf(const Tensor& tensor) {
  Tensor copy(CPU);
  const Tensor& host = OnHost(tensor, &copy);
  std::vector<float> values(static_cast<size_t>(host.numel()));
  if (host.IsType<float>()) {
    std::copy_n(host.data<float>(), values.size(), values.begin());
  } else if (host.IsType<bfloat16>()) {
    WidenRow(host.numel(), host.data<bfloat16>(), values.data());
  } else if (host.IsType<float16>()) {
    WidenRow(host.numel(), host.data<float16>(), values.data());
  } else {
    values.clear();
  }
  return values;
}

uint8_t PixelOf(float value, float mean, float std) {
  return static_cast<uint8_t>(std::lround(std::clamp(value * std + mean, 0.f, 255.f)));
}

// Image n of a batch {N, C, H, W} or {N, H, W, C}, whose colours are blue, green, red.
InputSample SampleOf(const std::vector<float>& batch, const std::vector<int64_t>& sizes, bool nchw,
                     const DataOptions& data, int64_t n) {
  const int64_t channels = sizes[nchw ? 1 : 3];
  const int64_t height = sizes[nchw ? 2 : 1], width = sizes[nchw ? 3 : 2];
  InputSample sample;
  sample.height = static_cast<int>(height);
  sample.width = static_cast<int>(width);
  sample.channels = static_cast<int>(channels);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = channels - 1; c >= 0; --c) {
        const int64_t at = nchw ? ((n * channels + c) * height + y) * width + x
                                : ((n * height + y) * width + x) * channels + c;
        const auto channel = static_cast<size_t>(c);
        const float mean = data.mean[data.mean.size() == 1 ? 0 : channel];
        const float std = data.std[data.std.size() == 1 ? 0 : channel];
        sample.pixels.push_back(PixelOf(batch[static_cast<size_t>(at)], mean, std));
      }
    }
  }
  return sample;
}

const Tensor* FindTensor(const Workspace& ws, const std::string& name) {
  const Blob* blob = ws.GetBlob(name);
  return blob != nullptr && blob->IsType<Tensor>() ? &blob->Get<Tensor>() : nullptr;
}

// Copies from the outputs of one operator after its first run.
class FirstBatch final : public NetObserver {
 public:
  FirstBatch(const NetBase* net, size_t op, const TrainOptions& options,
             std::vector<InputSample>* samples)
      : net_(net), op_(op), options_(options), samples_(samples) {}

  void OperatorStops(size_t i) override {
    if (i == op_ && samples_->empty()) Copy();
  }

 private:
  void Copy() {
    const OperatorDef& op = net_->net_def().op(static_cast<int>(op_));
    const Tensor* images = FindTensor(*net_->workspace(), op.output(0));
    const Tensor* labels = FindTensor(*net_->workspace(), op.output(1));
    if (images == nullptr || images->dim() != 4) return;
    const bool nchw = options_.model.order == "NCHW";
    const int64_t channels = images->size(nchw ? 1 : 3);
    const std::vector<float> values = FloatsOf(*images);
    if (values.empty() || (channels != 1 && channels != 3)) return;
    Tensor copy(CPU);
    const bool labelled = labels != nullptr && labels->IsType<int>() && labels->dim() == 1;
    const int* label = labelled ? OnHost(*labels, &copy).data<int>() : nullptr;
    for (int64_t n = 0; n < std::min<int64_t>(images->size(0), InputSamples::kMax); ++n) {
      samples_->push_back(SampleOf(values, images->sizes(), nchw, options_.data, n));
      if (label != nullptr) samples_->back().label = label[n];
    }
  }

  const NetBase* net_;
  const size_t op_;
  const TrainOptions& options_;
  std::vector<InputSample>* samples_;
};

}  // namespace

void InputSamples::Watch(const StartReport& report) {
  run_ = report;
  // Shards agree once on what they record, and an observed net records nothing. With one shard,
  // recording starts after Take().
  if (run_.options->cuda_graph && run_.options->shards.num_shards > 1) return;
  NetBase* net = run_.workspace->GetNet(run_.nets->train.name());
  const auto& ops = net->net_def().op();
  const auto input = std::find_if(ops.begin(), ops.end(),
                                  [](const auto& op) { return op.type() == "ImageInput"; });
  if (input == ops.end()) return;
  observer_ = net->AttachObserver(std::make_unique<FirstBatch>(
      net, static_cast<size_t>(input - ops.begin()), *run_.options, &samples_));
}

std::vector<InputSample> InputSamples::Take() {
  if (observer_ == nullptr) return {};
  run_.workspace->GetNet(run_.nets->train.name())->DetachObserver(observer_);
  observer_ = nullptr;
  return std::move(samples_);
}

}  // namespace caffe2
