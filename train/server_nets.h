// How the parameters of a model are divided among parameter servers, and the nets of a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "distributed/parameter_server.h"
#include "train/train_nets.h"

namespace caffe2 {

// The parameters of one server. All processes of a run compute the same division: each parameter,
// the largest first, goes to the server that has the fewest elements so far.
struct ServerPart {
  std::vector<size_t> params;  // indexes into TrainNets::params, ascending
  std::vector<int64_t> sizes;  // their numbers of elements
  int64_t size = 0;            // their sum
};
// Throws UsageError if there are more servers than parameters.
std::vector<ServerPart> DivideParameters(const TrainNets& nets, int num_servers);

// The parameters of one server and their optimizer: the operators of TrainNets::update that concern
// these parameters, in a workspace of their own.
class ServerModel final : public ParameterShard {
 public:
  ServerModel(const TrainNets& nets, const ServerPart& part);

  int64_t size() const override { return part_.size; }
  void Set(const float* values, int64_t iteration) override;
  void Get(float* values) const override;
  float Update(const float* gradients) override;

 private:
  const ServerPart part_;
  std::vector<std::string> params_, gradients_;  // full names; "" for no gradient
  const std::string learning_rate_;
  Workspace ws_;
  std::string net_;
};

}  // namespace caffe2
