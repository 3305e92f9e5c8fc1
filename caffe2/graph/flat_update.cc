#include "caffe2/graph/flat_update.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "caffe2/core/argument.h"
#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

constexpr int64_t kElementAlignment = 64;  // elements: 256 bytes

// One parameter: the operators that update it and their operands.
struct Update {
  int decay_op = -1, op = -1, apply_op = -1;  // apply_op: adds the step to the parameter
  std::string gradient, param;
  std::vector<std::string> states;
  float decay = 0;
};

// The layout of an optimizer's operator, and the operator that replaces many of it.
struct Family {
  const char* type;
  const char* fused;
  int gradient, param;                        // inputs; -1: another operator changes the parameter
  std::vector<int> states;                    // inputs
  std::vector<int> scalars;                   // inputs: learning rate, iteration
  std::vector<std::pair<int, int>> in_place;  // input, output: all outputs
  std::vector<const char*> arguments;         // that change the result
  bool has_decay = false;                     // the argument weight_decay
};

const std::vector<Family>& Families() {
  static const auto* families = new std::vector<Family>{
      {"MomentumSGDUpdate",
       "MultiMomentumSGDUpdate",
       0,
       3,
       {1},
       {2},
       {{0, 0}, {1, 1}, {3, 2}},
       {"momentum", "nesterov"},
       true},
      {"Adam",
       "MultiAdam",
       3,
       0,
       {1, 2},
       {4, 5},
       {{0, 0}, {1, 1}, {2, 2}},
       {"beta1", "beta2", "epsilon", "decoupled_weight_decay"},
       true},
      {"Adagrad", "MultiAdagrad", 2, 0, {1}, {3}, {{0, 0}, {1, 1}}, {"epsilon", "decay"}, true},
      {"RmsProp",
       "MultiRmsProp",
       0,
       -1,
       {1, 2},
       {3},
       {{0, 0}, {1, 1}, {2, 2}},
       {"decay", "momentum", "epsilon"}},
  };
  return *families;
}

// The number of inputs of an operator of the family without found_inf, the last one.
int OwnInputs(const Family& family) {
  return static_cast<int>(1 + (family.param >= 0) + family.states.size() + family.scalars.size());
}

// The family of an in-place update; null for other operators.
const Family* FamilyOf(const OperatorDef& op) {
  for (const Family& family : Families()) {
    const int extra = op.input_size() - OwnInputs(family);
    if (op.type() != family.type || extra < 0 || extra > 1 ||
        op.output_size() != static_cast<int>(family.in_place.size())) {
      continue;
    }
    const bool in_place = std::all_of(
        family.in_place.begin(), family.in_place.end(),
        [&op](const auto& pair) { return op.input(pair.first) == op.output(pair.second); });
    if (in_place) return &family;
  }
  return nullptr;
}

std::string FoundInfOf(const OperatorDef& op, const Family& family) {
  return op.input_size() > OwnInputs(family) ? op.input(OwnInputs(family)) : "";
}

// The values of float ConstantFill operators in `init_net`, by blob.
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

// The decay if the operator is WeightedSum(grad, ones, param, decay) -> grad.
std::optional<float> DecayOf(const OperatorDef& op, const Update& update,
                             const std::map<std::string, float>& constants) {
  if (op.type() != "WeightedSum" || op.input_size() != 4 || op.output_size() != 1) return {};
  if (op.input(0) != update.gradient || op.output(0) != update.gradient) return {};
  if (op.input(2) != update.param) return {};
  const auto one = constants.find(op.input(1)), decay = constants.find(op.input(3));
  if (one == constants.end() || decay == constants.end() || one->second != 1.f) return {};
  return decay->second;
}

// Updates may become one operator if their keys are equal: device, type, found_inf, scalar inputs
// and arguments.
using Key = std::vector<std::string>;
Key KeyOf(const OperatorDef& op, const NetDef& net, const Family& family) {
  Key key = {ToDevice(DeviceOptionOf(op, net)).ToString(), family.type, FoundInfOf(op, family)};
  for (const int i : family.scalars) key.push_back(op.input(i));
  for (const Argument& argument : op.arg()) {
    const auto same = [&argument](const char* name) { return argument.name() == name; };
    if (std::any_of(family.arguments.begin(), family.arguments.end(), same)) {
      key.push_back(argument.SerializeAsString());
    }
  }
  return key;
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

// Finds the operators that apply the step and the weight decay of an update. False if an operator
// uses its step in another way.
bool FindCompanions(const NetDef& net, const std::map<std::string, float>& constants,
                    Update* update) {
  const auto is_one = [&constants](const std::string& name) {
    const auto found = constants.find(name);
    return found != constants.end() && found->second == 1.f;
  };
  const int before = LastTouch(net, update->gradient, update->op);
  if (update->param.empty()) {
    // WeightedSum(param, one, step, one) -> param, the next operator that reads the step.
    for (int i = update->op + 1; update->apply_op < 0 && i < net.op_size(); ++i) {
      const OperatorDef& op = net.op(i);
      if (std::find(op.input().begin(), op.input().end(), update->gradient) == op.input().end()) {
        continue;
      }
      if (op.type() != "WeightedSum" || op.input_size() != 4 || op.input(2) != update->gradient ||
          op.input(0) != op.output(0) || !is_one(op.input(1)) || !is_one(op.input(3))) {
        return false;
      }
      update->apply_op = i;
      update->param = op.input(0);
    }
    if (update->param.empty()) return false;
  }
  if (before < 0) return true;
  const auto decay = DecayOf(net.op(before), *update, constants);
  const bool decoupled =
      ArgumentHelper(net.op(update->op)).GetSingleArgument<bool>("decoupled_weight_decay", false);
  if (decay && !decoupled) {  // decoupled decay is another operation
    update->decay_op = before;
    update->decay += *decay;
  }
  return true;
}

// Sorts updates in the order of their gradients in buckets; updates without a bucket come last.
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

std::set<int> OperatorsOf(const std::vector<Update>& updates) {
  std::set<int> own;
  for (const Update& update : updates) {
    for (const int op : {update.decay_op, update.op, update.apply_op}) {
      if (op >= 0) own.insert(op);
    }
  }
  return own;
}

// True if no operator outside `own` touches the blobs of the updates from the first to the last
// one, touches a gradient after them, or writes a scalar input between them.
bool AreApart(const NetDef& net, const std::vector<Update>& updates, const std::set<int>& own) {
  std::set<std::string> blobs, gradients;
  for (const Update& update : updates) {
    std::vector<std::string> touched = update.states;
    touched.insert(touched.end(), {update.gradient, update.param});
    for (const std::string& blob : touched) {
      if (blobs.insert(blob).second) continue;
      VLOG(1) << "updates stay apart: two of them work on " << blob;
      return false;
    }
    gradients.insert(update.gradient);
  }
  // All updates will read their scalar inputs at the place of the last one.
  std::set<std::string> scalars;
  int first = net.op_size();
  for (const Update& update : updates) {
    first = std::min(first, update.op);
    for (const std::string& blob : net.op(update.op).input()) {
      if (blobs.count(blob) == 0) scalars.insert(blob);
    }
  }
  for (int i = *own.begin(); i < net.op_size(); ++i) {
    if (own.count(i)) continue;
    // After the updates, only the gradients must not be touched: they now keep their values.
    const std::set<std::string>& matter = i <= *own.rbegin() ? blobs : gradients;
    const Operands operands = OperandsOf(net.op(i));
    for (const auto* list : {&operands.reads, &operands.writes}) {
      for (const std::string& blob : *list) {
        const bool moved =
            i > first && i <= *own.rbegin() && list == &operands.writes && scalars.count(blob) != 0;
        if (matter.count(blob) == 0 && !moved) continue;
        VLOG(1) << "updates stay apart: " << net.op(i).type() << " touches " << blob;
        return false;
      }
    }
  }
  return true;
}

// The CheckFiniteAndUnscale that writes found_inf, if its gradients are exactly the gradients of
// these updates and no other operator touches them before the updates are done; -1 otherwise.
int UnscalingOf(const NetDef& net, const std::string& found_inf,
                const std::vector<Update>& updates) {
  std::set<std::string> gradients;
  for (const Update& update : updates) gradients.insert(update.gradient);
  for (int i = 0; !found_inf.empty() && i < net.op_size(); ++i) {
    const OperatorDef& op = net.op(i);
    if (op.type() != "CheckFiniteAndUnscale" || op.output(0) != found_inf) continue;
    if (std::set<std::string>(op.input().begin() + 1, op.input().end()) != gradients) return -1;
    std::set<int> own = OperatorsOf(updates);
    own.insert(i);
    return *own.begin() == i && AreApart(net, updates, own) ? i : -1;
  }
  return -1;
}

// The CheckFinite that replaces `unscaling`, with the gradients in the order of the updates.
OperatorDef MakeCheck(const OperatorDef& unscaling, const std::vector<Update>& updates) {
  std::vector<std::string> inputs = {unscaling.input(0)};
  for (const Update& update : updates) inputs.push_back(update.gradient);
  OperatorDef check = GradientMakerBase::CreateOperatorDef(
      "CheckFinite", unscaling.name(), inputs,
      std::vector<std::string>{unscaling.output(0), unscaling.input(0) + "_used"},
      {MakeArgument("flat", true)});
  if (unscaling.has_device_option()) *check.mutable_device_option() = unscaling.device_option();
  return check;
}

// `scale` is the blob that gradients are divided by, "" for none.
OperatorDef MakeFused(const OperatorDef& like, const Family& family,
                      const std::vector<Update>& updates, const std::string& scale) {
  std::vector<std::string> inputs, outputs;
  std::vector<float> decay;
  for (const Update& update : updates) inputs.push_back(update.gradient);
  for (size_t s = 0; s < family.states.size(); ++s) {
    for (const Update& update : updates) outputs.push_back(update.states[s]);
  }
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  for (const int i : family.scalars) inputs.push_back(like.input(i));
  for (const Update& update : updates) {
    inputs.push_back(update.param);
    outputs.push_back(update.param);
    decay.push_back(update.decay);
  }
  const std::string found_inf = FoundInfOf(like, family);
  if (!found_inf.empty()) inputs.push_back(found_inf);
  if (!scale.empty()) inputs.push_back(scale);
  std::vector<Argument> arguments = {MakeArgument("weight_decay", decay),
                                     MakeArgument("flat", true)};
  for (const Argument& argument : like.arg()) {
    const auto same = [&argument](const char* name) { return argument.name() == name; };
    if (std::any_of(family.arguments.begin(), family.arguments.end(), same)) {
      arguments.push_back(argument);
    }
  }
  OperatorDef fused =
      GradientMakerBase::CreateOperatorDef(family.fused, like.name(), inputs, outputs, arguments);
  if (like.has_device_option()) *fused.mutable_device_option() = like.device_option();
  return fused;
}

ParameterArena ArenaOf(const Device& device, const std::vector<Update>& updates) {
  ParameterArena arena;
  arena.device = device;
  arena.states.resize(updates[0].states.size());
  for (const Update& update : updates) {
    arena.gradients.push_back(update.gradient);
    arena.params.push_back(update.param);
    for (size_t s = 0; s < update.states.size(); ++s) arena.states[s].push_back(update.states[s]);
  }
  return arena;
}

// Sets `flat` on the buckets whose gradients follow each other in an arena.
void MarkFlatBuckets(const std::vector<ParameterArena>& arenas, NetDef* net) {
  std::map<std::string, std::pair<const ParameterArena*, int>> places;
  for (const ParameterArena& arena : arenas) {
    for (size_t i = 0; i < arena.gradients.size(); ++i) {
      places[arena.gradients[i]] = {&arena, static_cast<int>(i)};
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

// The input of a convolution or its gradient that is the filter; -1 for other operators.
int FilterInput(const OperatorDef& op) {
  static const auto* inputs =
      new std::map<std::string, int>{{"Conv", 1},
                                     {"ConvRelu", 1},
                                     {"ConvSum", 1},
                                     {"ConvSumRelu", 1},
                                     {"ConvGradient", 1},
                                     {"ConvStats", 1},
                                     {"NormReluConvStats", 2},
                                     {"NormReluConvStatsGradient", 2},
                                     {"NormSumReluConvStats", 3},
                                     {"NormSumReluConvStatsGradient", 3},
                                     {"NormSumNormReluConvStats", 4},
                                     {"NormSumNormReluConvStatsGradient", 4}};
  const auto found = inputs->find(op.type());
  return found == inputs->end() ? -1 : found->second;
}

// The operators of the net that read the parameter as a filter. Empty if an operator besides the
// update reads it in another way or runs on another device.
std::vector<int> FilterReaders(const NetDef& net, const std::string& param, const Device& device,
                               int update) {
  std::vector<int> readers;
  for (int i = 0; i < net.op_size(); ++i) {
    const OperatorDef& op = net.op(i);
    const std::vector<std::string> reads = OperandsOf(op).reads;
    if (i == update || std::find(reads.begin(), reads.end(), param) == reads.end()) continue;
    const int filter = FilterInput(op);
    if (filter < 0 || op.input(filter) != param || ToDevice(DeviceOptionOf(op, net)) != device ||
        std::count(op.input().begin(), op.input().end(), param) != 1) {
      return {};
    }
    readers.push_back(i);
  }
  return readers;
}

// The index of the operator that updates the arena; throws if there is none.
int UpdateOf(const NetDef& net, const ParameterArena& arena) {
  for (int i = 0; i < net.op_size(); ++i) {
    const auto& outputs = net.op(i).output();
    const bool is_fused = std::any_of(Families().begin(), Families().end(),
                                      [&](const Family& f) { return net.op(i).type() == f.fused; });
    if (is_fused && std::find(outputs.begin(), outputs.end(), arena.params[0]) != outputs.end()) {
      return i;
    }
  }
  CAFFE_THROW("no operator updates ", arena.params[0]);
}

// A tensor's elements in 16 bits, on the host.
template <typename T, typename F>
Tensor Narrowed(const Tensor& tensor, const F& narrow) {
  Tensor host(CPU);
  host.CopyFrom(tensor);
  std::vector<T> values(host.numel());
  std::transform(host.data<float>(), host.data<float>() + host.numel(), values.begin(), narrow);
  return Tensor(host.sizes(), values);
}

// n zeros of a type on a device.
Tensor ZeroBlock(const Device& device, TensorProto::DataType type, int64_t n) {
  Tensor zeros(CPU), block(device);
  zeros.Resize(n);
  void* data = zeros.raw_mutable_data(DataTypeToTypeMeta(type));  // before it, nbytes() is 0
  std::memset(data, 0, zeros.nbytes());
  block.CopyFrom(zeros);
  return block;
}

// The updates of a net, grouped by key.
std::map<Key, std::vector<Update>> FindUpdates(const NetDef& net,
                                               const std::map<std::string, float>& constants) {
  std::map<Key, std::vector<Update>> candidates;
  for (int i = 0; i < net.op_size(); ++i) {
    const OperatorDef& op = net.op(i);
    const Family* family = FamilyOf(op);
    if (family == nullptr) continue;
    Update update;
    update.op = i;
    update.gradient = op.input(family->gradient);
    if (family->param >= 0) update.param = op.input(family->param);
    for (const int s : family->states) update.states.push_back(op.input(s));
    if (family->has_decay) {
      update.decay = ArgumentHelper(op).GetSingleArgument<float>("weight_decay", 0.f);
    }
    if (!FindCompanions(net, constants, &update)) continue;
    candidates[KeyOf(op, net, *family)].push_back(update);
  }
  return candidates;
}

}  // namespace

std::vector<ParameterArena> FuseUpdates(const NetDef& init_net, NetDef* net) {
  std::vector<ParameterArena> arenas;
  std::set<int> removed;
  std::map<int, OperatorDef> replaced;
  for (auto& [key, updates] : FindUpdates(*net, Constants(init_net))) {
    const std::set<int> own = OperatorsOf(updates);
    if (!AreApart(*net, updates, own)) continue;
    const OperatorDef& like = net->op(updates.back().op);
    const Family& family = *FamilyOf(like);
    const int unscaling = UnscalingOf(*net, FoundInfOf(like, family), updates);
    OrderByBuckets(*net, &updates);
    std::string scale;
    if (unscaling >= 0) {
      replaced[unscaling] = MakeCheck(net->op(unscaling), updates);
      scale = replaced[unscaling].output(1);
    }
    replaced[*own.rbegin()] = MakeFused(like, family, updates, scale);
    arenas.push_back(ArenaOf(ToDevice(DeviceOptionOf(like, *net)), updates));
    removed.insert(own.begin(), own.end());
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
  MarkFlatBuckets(arenas, &result);
  *net = std::move(result);
  return arenas;
}

int AddFilterCopies(TensorProto::DataType type, NetDef* net, std::vector<ParameterArena>* arenas) {
  CAFFE_ENFORCE(type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16,
                "the copies of parameters must be FLOAT16 or BFLOAT16, found ",
                TensorProto::DataType_Name(type));
  const std::string suffix = type == TensorProto::FLOAT16 ? "_float16" : "_bfloat16";
  int copies = 0;
  for (ParameterArena& arena : *arenas) {
    const int update = UpdateOf(*net, arena);
    std::vector<int> copied;
    for (size_t p = 0; p < arena.params.size(); ++p) {
      const std::vector<int> readers = FilterReaders(*net, arena.params[p], arena.device, update);
      if (readers.empty()) continue;
      arena.copies.resize(arena.params.size());
      arena.copies[p] = arena.params[p] + suffix;
      copied.push_back(static_cast<int>(p));
      net->mutable_op(update)->add_output(arena.copies[p]);
      net->add_external_input(arena.copies[p]);
      for (const int i : readers) {
        OperatorDef* op = net->mutable_op(i);
        op->set_input(FilterInput(*op), arena.copies[p]);
        const bool is_gradient = op->type().find("Gradient") != std::string::npos;
        if (is_gradient) *op->add_arg() = MakeArgument("float_gradients", true);
      }
    }
    if (copied.empty()) continue;
    arena.copy_type = type;
    copies += static_cast<int>(copied.size());
    *net->mutable_op(update)->add_arg() = MakeArgument("copied", copied);
    *net->mutable_op(update)->add_arg() = MakeArgument<int>("copy_type", type);
  }
  return copies;
}

void PlaceArena(const ParameterArena& arena, Workspace* ws) {
  std::vector<int64_t> offsets;
  int64_t end = 0;
  const auto tensor_of = [ws](const std::string& name) -> Tensor* {
    Blob* blob = ws->GetBlob(name);
    CAFFE_ENFORCE(blob != nullptr && blob->IsType<Tensor>(), "no tensor ", name, " to lay out");
    return blob->GetMutable<Tensor>();
  };
  for (const std::string& param : arena.params) {
    offsets.push_back(end);
    end +=
        (tensor_of(param)->numel() + kElementAlignment - 1) / kElementAlignment * kElementAlignment;
  }
  const auto place = [&](const std::vector<std::string>& names, const char* kind) {
    const Tensor block = ZeroBlock(arena.device, TensorProto::FLOAT, end);
    for (size_t i = 0; i < names.size(); ++i) {
      Tensor* tensor = tensor_of(names[i]);
      const Tensor* param = tensor_of(arena.params[i]);
      CAFFE_ENFORCE(tensor->numel() == param->numel(), "the ", kind, " of ", arena.params[i],
                    " must have ", param->numel(), " elements, found ", tensor->numel());
      Tensor view = block.View(offsets[i], param->sizes());
      view.CopyFrom(*tensor);
      tensor->ShareData(view);
    }
  };
  for (const std::vector<std::string>& states : arena.states) place(states, "state");
  place(arena.params, "values");
  const auto place_typed = [&](TensorProto::DataType type, const auto& names, const auto& fill) {
    const Tensor block = ZeroBlock(arena.device, type, end);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      const Tensor* param = tensor_of(arena.params[i]);
      Tensor view = block.View(offsets[i], param->sizes());
      fill(*param, &view);
      BlobGetMutableTensor(ws->CreateBlob(names[i]), arena.device)->ShareData(view);
    }
  };
  place_typed(arena.copy_type, arena.copies, [&arena](const Tensor& param, Tensor* view) {
    const bool half = arena.copy_type == TensorProto::FLOAT16;
    view->CopyFrom(half ? Narrowed<float16>(param, ToFloat16)
                        : Narrowed<bfloat16>(param, ToBFloat16));
  });
  place_typed(arena.gradient_type, arena.gradients, [](const Tensor&, Tensor*) {});
}

}  // namespace caffe2
