#include "train/moving_average.h"

#include <algorithm>
#include <cmath>

#include "caffe2/core/logging.h"
#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

// Blobs of each replica: the factors of the average and of the value.
constexpr char kAverageFactor[] = "ema_average_factor", kValueFactor[] = "ema_value_factor";

std::string AverageOf(const std::string& name) { return name + "_ema"; }

std::vector<std::string> AveragesOf(const std::vector<std::string>& names) {
  std::vector<std::string> averages;
  for (const std::string& name : names) averages.push_back(AverageOf(name));
  return averages;
}

void AddAverages(const std::string& scope, const std::vector<std::string>& names,
                 const DeviceOption& device, MovingAverageNets* nets) {
  for (const std::string& name : names) {
    const std::string value = scope + name, average = scope + AverageOf(name);
    OperatorDef* start = nets->start.add_op();
    *start = GradientMakerBase::CreateOperatorDef("Copy", "", {value}, {average});
    *start->mutable_device_option() = device;
    OperatorDef* update = nets->update.add_op();
    *update = GradientMakerBase::CreateOperatorDef(
        "WeightedSum", "", {average, scope + kAverageFactor, value, scope + kValueFactor},
        {average});
    *update->mutable_device_option() = device;
  }
}

void SetScalar(const std::string& name, const Device& device, float value, Workspace* ws) {
  BlobGetMutableTensor(ws->CreateBlob(name), device)
      ->CopyFrom(Tensor(std::vector<int64_t>{1}, std::vector<float>{value}));
}

}  // namespace

MovingAverageNets BuildMovingAverage(const std::vector<std::string>& scopes,
                                     const std::vector<Device>& devices,
                                     const std::vector<std::string>& params,
                                     const std::vector<std::string>& computed_params) {
  MovingAverageNets nets;
  nets.params = AveragesOf(params);
  nets.computed_params = AveragesOf(computed_params);
  nets.start.set_name("ema_start");
  nets.update.set_name("ema_update");
  for (size_t r = 0; r < scopes.size(); ++r) {
    const DeviceOption device = ToDeviceOption(devices[r]);
    if (r == 0) AddAverages(scopes[r], params, device, &nets);
    AddAverages(scopes[r], computed_params, device, &nets);
  }
  return nets;
}

double AverageDecay(double decay, int64_t iterations, int64_t every) {
  const auto n = static_cast<double>(iterations);
  return std::pow(std::min(decay, (1 + n) / (10 + n)), static_cast<double>(every));
}

ModelAverage::ModelAverage(const MovingAverageNets& nets, const std::vector<std::string>& scopes,
                           const std::vector<Device>& devices, Workspace* ws, double decay,
                           int64_t every)
    : nets_(nets), scopes_(scopes), devices_(devices), ws_(ws), decay_(decay), every_(every) {
  SetFactors(decay);  // the net needs its inputs
  ws->CreateNet(nets.update);
}

void ModelAverage::Step(int64_t now, int64_t iterations) {
  if (now / every_ == (now - iterations) / every_) return;
  SetFactors(AverageDecay(decay_, now, every_));
  CAFFE_ENFORCE(ws_->RunNet(nets_.update.name()), "the moving average of the parameters failed");
}

void ModelAverage::SetFactors(double decay) {
  for (size_t r = 0; r < scopes_.size(); ++r) {
    SetScalar(scopes_[r] + kAverageFactor, devices_[r], static_cast<float>(decay), ws_);
    SetScalar(scopes_[r] + kValueFactor, devices_[r], static_cast<float>(1 - decay), ws_);
  }
}

}  // namespace caffe2
