#include "train/model_view.h"

#include <algorithm>
#include <unordered_map>

#include "caffe2/core/device_backend.h"

namespace caffe2 {
namespace {

std::unordered_map<std::string, std::string> Forwarded(const TrainNets& nets) {
  std::unordered_map<std::string, std::string> names;
  const auto& sources = nets.ema.params.empty() ? nets.params : nets.ema.params;
  for (size_t i = 0; i < sources.size(); ++i) names[nets.params[i]] = nets.scope + sources[i];
  return names;
}

const std::vector<std::string>& Statistics(const TrainNets& nets) {
  return nets.ema.computed_params.empty() ? nets.computed_params : nets.ema.computed_params;
}

}  // namespace

ModelView::ModelView(const TrainNets& nets, const Workspace* training, ShardRun* run)
    : nets_(nets), training_(training), run_(run), workspace_(training, Forwarded(nets)) {}

void ModelView::Refresh() {
  const std::vector<std::string>& sources = Statistics(nets_);
  std::vector<double> values;
  for (const std::string& name : sources) {
    const size_t begin = values.size();
    for (const std::string& scope : nets_.scopes) {
      Tensor copy(CPU);
      const Tensor& tensor = OnHost(training_->GetBlob(scope + name)->Get<Tensor>(), &copy);
      const float* data = tensor.data<float>();
      values.resize(begin + tensor.numel(), 0.0);
      for (int64_t i = 0; i < tensor.numel(); ++i) values[begin + i] += data[i];
    }
  }
  if (values.empty()) return;
  run_->Sum(&values);
  const double* next = values.data();
  for (size_t i = 0; i < sources.size(); ++i) {
    const Tensor& source = training_->GetBlob(nets_.scope + sources[i])->Get<Tensor>();
    Tensor mean(CPU);
    mean.ResizeLike(source);
    float* out = mean.mutable_data<float>();
    const auto replicas = static_cast<double>(run_->num_shards() * nets_.scopes.size());
    std::transform(next, next + source.numel(), out,
                   [replicas](double sum) { return static_cast<float>(sum / replicas); });
    next += source.numel();
    BlobGetMutableTensor(workspace_.CreateLocalBlob(nets_.computed_params[i]), source.device())
        ->CopyFrom(mean);
  }
}

}  // namespace caffe2
