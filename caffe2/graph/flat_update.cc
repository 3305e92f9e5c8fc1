#include "caffe2/graph/flat_update.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "caffe2/core/argument.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/operator_gradient.h"

namespace caffe2 {
namespace {

constexpr int64_t kAlignment = 64;  // elements: 256 bytes

// One parameter: the operators that update it, and what they work on.
struct Update {
  int decay_op = -1, op = -1;
  std::string gradient, momentum, param;
  float decay = 0;
};

// Constants by name, from the fillers of the initialisation.
std::map<std::string, float> Constants(const NetDef& init_net) {
  std::map<std::string, float> constants;
  for (const OperatorDef& op : init_net.op()) {
    if (op.type() != "ConstantFill" || op.input_size() != 0 || op.output_size() != 1) continue;
    const ArgumentHelper arguments(op);
    if (arguments.GetSingleArgument<int>("dtype", TensorProto::FLOAT) != TensorProto::FLOAT)
      continue;
    constants[op.output(0)] = arguments.GetSingleArgument<float>("value", 0.f);
  }
  return constants;
}

// The decay of WeightedSum(grad, ones, param, decay) -> grad, if the operator is that.
std::optional<float> DecayOf(const OperatorDef& op, const Update& update,
                             const std::map<std::string, float>& constants) {
  if (op.type() != "WeightedSum" || op.input_size() != 4 || op.output_size() != 1) return {};
  if (op.input(0) != update.gradient || op.output(0) != update.gradient) return {};
  if (op.input(2) != update.param) return {};
  const auto one = constants.find(op.input(1)), decay = constants.find(op.input(3));
  if (one == constants.end() || decay == constants.end() || one->second != 1.f) return {};
  return decay->second;
}

bool IsInPlaceUpdate(const OperatorDef& op) {
  return op.type() == "MomentumSGDUpdate" && op.input_size() == 4 && op.output_size() == 3 &&
         op.output(0) == op.input(0) && op.output(1) == op.input(1) && op.output(2) == op.input(3);
}

// What updates must share to become one operator.
using Key = std::tuple<std::string, std::string, float, int>;
Key KeyOf(const OperatorDef& op) {
  const ArgumentHelper arguments(op);
  return {ToDevice(op.device_option()).ToString(), op.input(2),
          arguments.GetSingleArgument<float>("momentum", 0.f),
          arguments.GetSingleArgument<int>("nesterov", 0)};
}

// Position of the last operator before `before` that touches the blob, or -1.
int LastTouch(const NetDef& net, const std::string& blob, int before) {
  for (int i = before - 1; i >= 0; --i) {
    const Operands operands = OperandsOf(net.op(i));
    const auto is_blob = [&blob](const std::string& each) { return each == blob; };
    if (std::any_of(operands.reads.begin(), operands.reads.end(), is_blob) ||
        std::any_of(operands.writes.begin(), operands.writes.end(), is_blob)) {
      return i;
    }
  }
  return -1;
}

// Puts those whose gradients are reduced in buckets in the order of the buckets.
void OrderByBuckets(const NetDef& net, std::vector<Update>* updates) {
  std::map<std::string, int> order;
  for (const OperatorDef& op : net.op()) {
    if (op.type() != "AllreduceBucket") continue;
    for (int i = 1; i < op.input_size(); ++i) {
      order.emplace(op.input(i), static_cast<int>(order.size()));
    }
  }
  const auto place = [&order](const Update& update) {
    const auto found = order.find(update.gradient);
    return found == order.end() ? order.size() : static_cast<size_t>(found->second);
  };
  std::stable_sort(updates->begin(), updates->end(),
                   [&place](const Update& a, const Update& b) { return place(a) < place(b); });
}

// True if no other operator touches the blobs of the updates from the first of them to the last, or
// reads a gradient behind them.
bool AreApart(const NetDef& net, const std::vector<Update>& updates) {
  std::set<std::string> blobs;
  std::set<int> own;
  int begin = net.op_size(), end = 0;
  for (const Update& update : updates) {
    for (const std::string* blob : {&update.gradient, &update.momentum, &update.param}) {
      if (!blobs.insert(*blob).second) {
        VLOG(1) << "updates stay apart: two of them work on " << *blob;
        return false;
      }
    }
    for (const int op : {update.decay_op, update.op}) {
      if (op < 0) continue;
      own.insert(op);
      begin = std::min(begin, op);
      end = std::max(end, op);
    }
  }
  for (int i = begin; i < net.op_size(); ++i) {
    if (own.count(i)) continue;
    const Operands operands = OperandsOf(net.op(i));
    for (const auto* list : {&operands.reads, &operands.writes}) {
      for (const std::string& blob : *list) {
        // Behind the updates only the gradient, which now keeps its value, must have no reader.
        const bool matters =
            i <= end ? blobs.count(blob) != 0
                     : std::any_of(updates.begin(), updates.end(), [&blob](const Update& update) {
                         return update.gradient == blob;
                       });
        if (!matters) continue;
        VLOG(1) << "updates stay apart: " << net.op(i).type() << " touches " << blob;
        return false;
      }
    }
  }
  return true;
}

OperatorDef MakeFused(const OperatorDef& like, const std::vector<Update>& updates) {
  std::vector<std::string> inputs, outputs;
  std::vector<float> decay;
  for (const Update& update : updates) inputs.push_back(update.gradient);
  for (const Update& update : updates) inputs.push_back(update.momentum);
  inputs.push_back(like.input(2));
  for (const Update& update : updates) inputs.push_back(update.param);
  for (const Update& update : updates) outputs.push_back(update.momentum);
  for (const Update& update : updates) outputs.push_back(update.param);
  for (const Update& update : updates) decay.push_back(update.decay);
  const ArgumentHelper arguments(like);
  OperatorDef fused = GradientMakerBase::CreateOperatorDef(
      "MultiMomentumSGDUpdate", like.name(), inputs, outputs,
      {MakeArgument("momentum", arguments.GetSingleArgument<float>("momentum", 0.f)),
       MakeArgument("nesterov", arguments.GetSingleArgument<int>("nesterov", 0)),
       MakeArgument("weight_decay", decay), MakeArgument("flat", true)});
  *fused.mutable_device_option() = like.device_option();
  return fused;
}

FlatGroup GroupOf(const Device& device, const std::vector<Update>& updates) {
  FlatGroup group;
  group.device = device;
  for (const Update& update : updates) {
    group.gradients.push_back(update.gradient);
    group.momenta.push_back(update.momentum);
    group.params.push_back(update.param);
  }
  return group;
}

// Marks the buckets whose gradients follow each other in a group.
void MarkFlatBuckets(const std::vector<FlatGroup>& groups, NetDef* net) {
  std::map<std::string, std::pair<const FlatGroup*, int>> places;
  for (const FlatGroup& group : groups) {
    for (size_t i = 0; i < group.gradients.size(); ++i) {
      places[group.gradients[i]] = {&group, static_cast<int>(i)};
    }
  }
  for (OperatorDef& op : *net->mutable_op()) {
    if (op.type() != "AllreduceBucket") continue;
    bool flat = true;
    for (int i = 1; flat && i < op.input_size(); ++i) {
      const auto place = places.find(op.input(i)), first = places.find(op.input(1));
      flat = place != places.end() && place->second.first == first->second.first &&
             place->second.second == first->second.second + i - 1;
    }
    if (flat) *op.add_arg() = MakeArgument("flat", true);
  }
}

}  // namespace

std::vector<FlatGroup> FuseUpdates(const NetDef& init_net, NetDef* net) {
  const std::map<std::string, float> constants = Constants(init_net);
  std::map<Key, std::vector<Update>> candidates;
  for (int i = 0; i < net->op_size(); ++i) {
    const OperatorDef& op = net->op(i);
    if (!IsInPlaceUpdate(op)) continue;
    Update update{-1, i, op.input(0), op.input(1), op.input(3), 0.f};
    const int before = LastTouch(*net, update.gradient, i);
    if (before >= 0) {
      if (const auto decay = DecayOf(net->op(before), update, constants)) {
        update.decay_op = before;
        update.decay = *decay;
      }
    }
    candidates[KeyOf(op)].push_back(update);
  }
  std::vector<FlatGroup> groups;
  std::set<int> removed;
  std::map<int, OperatorDef> replaced;
  for (auto& [key, updates] : candidates) {
    if (updates.size() < 2 || !AreApart(*net, updates)) continue;
    const int last = updates.back().op;
    OrderByBuckets(*net, &updates);
    replaced[last] = MakeFused(net->op(last), updates);
    groups.push_back(GroupOf(ToDevice(net->op(last).device_option()), updates));
    for (const Update& update : updates) removed.insert({update.decay_op, update.op});
  }
  NetDef result = *net;
  result.clear_op();
  for (int i = 0; i < net->op_size(); ++i) {
    if (replaced.count(i)) {
      *result.add_op() = replaced[i];
    } else if (removed.count(i) == 0) {
      *result.add_op() = net->op(i);
    }
  }
  MarkFlatBuckets(groups, &result);
  *net = std::move(result);
  return groups;
}

void PlaceFlat(const FlatGroup& group, Workspace* ws) {
  std::vector<int64_t> offsets;
  int64_t end = 0;
  const auto tensor_of = [ws](const std::string& name) -> Tensor* {
    Blob* blob = ws->GetBlob(name);
    CAFFE_ENFORCE(blob != nullptr && blob->IsType<Tensor>(), "no tensor ", name, " to lay out");
    return blob->GetMutable<Tensor>();
  };
  for (const std::string& param : group.params) {
    offsets.push_back(end);
    end += (tensor_of(param)->numel() + kAlignment - 1) / kAlignment * kAlignment;
  }
  const auto make_block = [&group, end] {
    Tensor block(group.device);
    block.CopyFrom(Tensor({end}, std::vector<float>(end, 0.f)));
    return block;
  };
  const Tensor gradients = make_block(), momenta = make_block(), params = make_block();
  for (size_t i = 0; i < group.params.size(); ++i) {
    Tensor* param = tensor_of(group.params[i]);
    Tensor* momentum = tensor_of(group.momenta[i]);
    const std::vector<int64_t> dims = param->sizes();
    CAFFE_ENFORCE_EQ(momentum->numel(), param->numel(), "momentum of ", group.params[i]);
    for (const auto& [tensor, block] : {std::pair{param, &params}, {momentum, &momenta}}) {
      Tensor view = block->View(offsets[i], dims);
      view.CopyFrom(*tensor);
      tensor->ShareData(view);
    }
    BlobGetMutableTensor(ws->CreateBlob(group.gradients[i]), group.device)
        ->ShareData(gradients.View(offsets[i], dims));
  }
}

}  // namespace caffe2
