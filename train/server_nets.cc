#include "train/server_nets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "caffe2/core/operator.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/graph/training_pipeline.h"
#include "caffe2/model/optimizer.h"

namespace caffe2 {
namespace {

int64_t NumElements(const TensorShape& shape) {
  return std::accumulate(shape.dims().begin(), shape.dims().end(), int64_t{1},
                         std::multiplies<int64_t>());
}

template <typename Names>
bool Any(const Names& names, const std::set<std::string>& wanted) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return wanted.count(name) != 0; });
}

// The operators that write what `wanted` names, or what these operators read.
NetDef WritersOf(const NetDef& net, std::set<std::string> wanted) {
  std::vector<OperatorDef> ops;
  for (int i = net.op_size() - 1; i >= 0; --i) {
    const OperatorDef& op = net.op(i);
    if (!Any(op.output(), wanted)) continue;
    wanted.insert(op.input().begin(), op.input().end());
    ops.push_back(op);
  }
  NetDef result;
  result.set_name(net.name());
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) *result.add_op() = *op;
  return result;
}

// The update of the first replica without the operators of other servers' parameters. An operator
// that concerns no parameter (the learning rate) stays.
NetDef UpdateOf(const TrainNets& nets, const std::set<std::string>& others) {
  const auto is_foreign = [&](const std::string& blob) {
    return others.count(blob) != 0 ||
           std::any_of(nets.scopes.begin() + 1, nets.scopes.end(), [&](const std::string& scope) {
             return blob.compare(0, scope.size(), scope) == 0;
           });
  };
  NetDef net;
  net.set_name(nets.update.name());
  for (const OperatorDef& op : nets.update.op()) {
    const bool foreign = std::any_of(op.input().begin(), op.input().end(), is_foreign) ||
                         std::any_of(op.output().begin(), op.output().end(), is_foreign);
    if (!foreign) *net.add_op() = op;
  }
  return net;
}

void CopyFloats(const Tensor& tensor, float* out) {
  std::copy(tensor.data<float>(), tensor.data<float>() + tensor.numel(), out);
}

}  // namespace

std::vector<ServerPart> DivideParameters(const TrainNets& nets, int num_servers) {
  const auto shapes = InferBlobShapesAndTypes({}, {&nets.init});
  std::vector<int64_t> sizes;
  for (const std::string& param : nets.params) {
    const auto shape = shapes.find(nets.scope + param);
    CAFFE_ENFORCE(shape != shapes.end() && !shape->second.unknown_shape(), "the shape of ", param,
                  " is not known");
    sizes.push_back(NumElements(shape->second));
  }
  CheckUsage(static_cast<size_t>(num_servers) <= sizes.size(), "--param_servers is ", num_servers,
             ", but the model has only ", sizes.size(), " parameters");
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<ServerPart> parts(static_cast<size_t>(num_servers));
  for (const size_t param : order) {
    ServerPart& part =
        *std::min_element(parts.begin(), parts.end(),
                          [](const ServerPart& a, const ServerPart& b) { return a.size < b.size; });
    part.params.push_back(param);
    part.size += sizes[param];
  }
  for (ServerPart& part : parts) {
    std::sort(part.params.begin(), part.params.end());
    for (const size_t param : part.params) part.sizes.push_back(sizes[param]);
  }
  return parts;
}

ServerModel::ServerModel(const TrainNets& nets, const ServerPart& part)
    : part_(part), learning_rate_(nets.learning_rate) {
  std::set<std::string> others(nets.gradients.begin(), nets.gradients.end());
  for (const std::string& param : nets.params) others.insert(nets.scope + param);
  for (const size_t param : part.params) {
    params_.push_back(nets.scope + nets.params[param]);
    gradients_.push_back(nets.gradients[param]);
    others.erase(params_.back());
    others.erase(gradients_.back());
  }
  NetDef net = UpdateOf(nets, others);
  std::set<std::string> inputs(params_.begin(), params_.end());
  for (const OperatorDef& op : net.op()) inputs.insert(op.input().begin(), op.input().end());
  CAFFE_ENFORCE(ws_.RunNetOnce(WritersOf(nets.init, inputs)),
                "the net that makes the first parameters failed");
  for (size_t i = 0; i < params_.size(); ++i) {
    if (gradients_[i].empty()) continue;  // frozen
    BlobGetMutableTensor(ws_.CreateBlob(gradients_[i]), Device{})
        ->ResizeLike(ws_.GetBlob(params_[i])->Get<Tensor>());
    ws_.GetBlob(gradients_[i])->GetMutable<Tensor>()->mutable_data<float>();
  }
  // As in a run without servers, for the same bits.
  TrainingPasses passes = ChooseTrainingPasses(CPU, "NHWC", TensorProto::FLOAT);
  passes.memory_plan = false;
  PlaceTraining(net, PrepareTraining(nets.init, passes, {}, &net), {}, &ws_);
  ws_.CreateNet(net);
  net_ = net.name();
}

void ServerModel::Set(const float* values, int64_t iteration) {
  for (size_t i = 0; i < params_.size(); ++i) {
    float* data = ws_.GetBlob(params_[i])->GetMutable<Tensor>()->mutable_data<float>();
    std::copy(values, values + part_.sizes[i], data);
    values += part_.sizes[i];
  }
  *ws_.GetBlob(kOptimizerIteration)->GetMutable<Tensor>()->mutable_data<int64_t>() = iteration;
}

void ServerModel::Get(float* values) const {
  for (size_t i = 0; i < params_.size(); ++i) {
    CopyFloats(ws_.GetBlob(params_[i])->Get<Tensor>(), values);
    values += part_.sizes[i];
  }
}

float ServerModel::Update(const float* gradients) {
  for (size_t i = 0; i < gradients_.size(); ++i) {
    if (!gradients_[i].empty()) {
      float* data = ws_.GetBlob(gradients_[i])->GetMutable<Tensor>()->mutable_data<float>();
      std::copy(gradients, gradients + part_.sizes[i], data);
    }
    gradients += part_.sizes[i];
  }
  CAFFE_ENFORCE(ws_.RunNet(net_), "the update failed");
  return std::abs(ws_.GetBlob(learning_rate_)->Get<Tensor>().data<float>()[0]);
}

}  // namespace caffe2
