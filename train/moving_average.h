// The exponential moving average of a model in training (EMA), which tests and exported models use
// instead of the parameters themselves (Polyak and Juditsky, "Acceleration of stochastic
// approximation by averaging", 1992; torchvision: --model-ema). Training never reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/core/workspace.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Everything is empty in a run without averages.
struct MovingAverageNets {
  NetDef start;   // each average takes the value of its blob
  NetDef update;  // average = decay * average + (1 - decay) * value
  // Stripped names, in the order of the parameters and running statistics that they follow. All
  // replicas share the parameters, so only the first has their averages; each has averages of its
  // own statistics.
  std::vector<std::string> params, computed_params;
};

// Builds the nets for replicas with these scopes ("cpu_0/"), one for each device. The other names
// are stripped.
MovingAverageNets BuildMovingAverage(const std::vector<std::string>& scopes,
                                     const std::vector<Device>& devices,
                                     const std::vector<std::string>& params,
                                     const std::vector<std::string>& computed_params);

// The decay of an update that follows `every` iterations, the last of which is number `iterations`
// of the run: the decay of one iteration to the power of `every`. The decay of one iteration is at
// most (1 + iterations) / (10 + iterations), so that an average soon forgets the random values with
// which a run begins (as in TensorFlow's ExponentialMovingAverage).
double AverageDecay(double decay, int64_t iterations, int64_t every);

// Keeps the averages of one shard up to date. Not thread-safe.
class ModelAverage {
 public:
  // Creates the net `update` in `ws`, where `start` must have run. `decay` is the decay of one
  // iteration, from 0 to below 1; `every` is the number of iterations between two updates. All
  // arguments but the last two must outlive this.
  ModelAverage(const MovingAverageNets& nets, const std::vector<std::string>& scopes,
               const std::vector<Device>& devices, Workspace* ws, double decay, int64_t every);

  // Call it whenever all shards have the same parameters: after each iteration or, with local SGD,
  // after each exchange. `iterations` is the number of iterations since the previous call; the last
  // one is number `now` of the run. Updates the averages if the number of one of them is a multiple
  // of `every`.
  void Step(int64_t now, int64_t iterations);

 private:
  void SetFactors(double decay);

  const MovingAverageNets& nets_;
  const std::vector<std::string>& scopes_;
  const std::vector<Device>& devices_;
  Workspace* ws_;
  const double decay_;
  const int64_t every_;
};

}  // namespace caffe2
