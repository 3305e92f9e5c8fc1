#include "operators/recurrent/recurrent_network.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "caffe2/utils/net_io.h"

namespace caffe2 {

std::vector<RecurrentLink> ReadLinks(const OperatorDef& def, const std::string& prefix) {
  const ArgumentHelper arguments(def);
  const auto internal = arguments.GetRepeatedArgument<std::string>(prefix + "link_internal");
  const auto external = arguments.GetRepeatedArgument<std::string>(prefix + "link_external");
  const auto offset = arguments.GetRepeatedArgument<int>(prefix + "link_offset");
  auto window = arguments.GetRepeatedArgument<int>(prefix + "link_window");
  if (window.empty()) window.assign(internal.size(), 1);
  CAFFE_ENFORCE(internal.size() == external.size() && internal.size() == offset.size() &&
                    internal.size() == window.size(),
                prefix, "link_internal has ", internal.size(), " blobs, ", prefix, "link_external ",
                external.size(), ", link_offset ", offset.size(), " and link_window ",
                window.size(), " entries");
  std::vector<RecurrentLink> links;
  for (size_t i = 0; i < internal.size(); ++i) {
    CAFFE_ENFORCE(window[i] > 0, "argument ", prefix, "link_window must be positive, found ",
                  window[i], " for ", internal[i]);
    links.push_back({internal[i], external[i], offset[i], window[i]});
  }
  return links;
}

NetDef ReadStepNet(const OperatorDef& def, const std::string& argument) {
  const ArgumentHelper arguments(def);
  CAFFE_ENFORCE(arguments.HasArgument(argument), "operator ", def.type(), " needs the argument ",
                argument);
  NetDef net;
  if (arguments.HasSingleArgumentOfType<NetDef>(argument)) {
    net = arguments.GetSingleArgument<NetDef>(argument, net);
  } else {
    net = ParseNetDefText(arguments.GetSingleArgument<std::string>(argument, ""),
                          "argument " + argument);
  }
  // Some builders name Caffe2's executor that ran steps in parallel. Its results are the same.
  if (net.type() == "rnn") net.set_type("simple");
  // External inputs that the net does not read need not exist.
  net.clear_external_input();
  return net;
}

bool HasBackwardStepNet(const OperatorDef& def) {
  const Argument* argument = FindArgument(def, "backward_step_net");
  return argument != nullptr && (argument->has_n() || !argument->s().empty());
}

void PrependOperators(const std::vector<OperatorDef>& ops, NetDef* net) {
  google::protobuf::RepeatedPtrField<OperatorDef> all;
  for (const OperatorDef& op : ops) *all.Add() = op;
  all.MergeFrom(net->op());
  net->mutable_op()->Swap(&all);
}

void PrependLinks(const std::vector<RecurrentLink>& links, const std::string& timestep,
                  const DeviceOption& device, NetDef* net) {
  std::vector<OperatorDef> ops;
  for (const RecurrentLink& link : links) {
    ops.push_back(GradientMakerBase::CreateOperatorDef(
        "rnn_internal_apply_link", "", {timestep, link.external}, {link.internal, link.external},
        {MakeArgument("offset", link.offset), MakeArgument("window", link.window)}));
    *ops.back().mutable_device_option() = device;
  }
  PrependOperators(ops, net);
}

namespace {

// Elements of one row: all dimensions but the first.
int64_t RowSize(const Tensor& x) { return x.size_from_dim(1); }

bool IsLinked(const Tensor& external, int64_t row, int64_t window, const Tensor& internal) {
  const int64_t numel = window * RowSize(external);
  if (internal.numel() != numel || internal.dtype() != external.dtype()) return false;
  // A view keeps its storage alive, so equal addresses mean the same storage.
  return numel == 0 || internal.raw_data() == static_cast<const char*>(external.raw_data()) +
                                                  row * RowSize(external) * external.itemsize();
}

}  // namespace

void LinkRows(const Tensor& external, int64_t row, int64_t window, Tensor* internal) {
  CAFFE_ENFORCE(external.dim() >= 1, "the linked tensor must have a time axis, found a scalar");
  CAFFE_ENFORCE(row >= 0 && window <= external.size(0) - row, "rows ", row, " to ",
                row + window - 1, " are not in a tensor of shape ", ShapeString(external.sizes()));
  if (internal->dim() == external.dim() && internal->size(0) == window &&
      std::equal(internal->sizes().begin() + 1, internal->sizes().end(),
                 external.sizes().begin() + 1) &&
      IsLinked(external, row, window, *internal)) {
    return;
  }
  std::vector<int64_t> dims = external.sizes();
  dims[0] = window;
  *internal = external.View(row * RowSize(external), dims);
}

void ScratchWorkspaces::Prepare(const std::string& new_definition, const Workspace* outer,
                                size_t count) {
  if (shared == nullptr || definition != new_definition) {
    steps.clear();
    shared = std::make_shared<Workspace>(outer);
    definition = new_definition;
  }
  while (steps.size() < count) steps.push_back(std::make_shared<Workspace>(shared.get()));
}

StepNets::StepNets(NetDef net, std::vector<RecurrentLink> links, std::string timestep,
                   std::vector<std::string> shared_blobs)
    : net_(std::make_shared<const NetDef>(std::move(net))),
      links_(std::move(links)),
      timestep_(std::move(timestep)),
      made_(BlobsMadeBy(*net_)),
      shared_blobs_(std::move(shared_blobs)) {}

void StepNets::Make(const ScratchWorkspaces& scratch, size_t slot, Step* step) const {
  *step = Step();
  step->shared = scratch.shared;
  step->workspace = scratch.steps.at(slot);
  // Before the net is made, which would take a blob of the same name outside.
  const std::vector<std::string> existing = step->workspace->LocalBlobs();
  for (const std::string& blob : made_) {
    if (std::binary_search(existing.begin(), existing.end(), blob)) continue;
    const bool share = std::count(shared_blobs_.begin(), shared_blobs_.end(), blob) != 0;
    (share ? step->shared : step->workspace)->CreateLocalBlob(blob);
  }
  step->timestep = BlobGetMutableTensor(step->workspace->CreateLocalBlob(timestep_), Device{});
  step->timestep->Resize(1);
  step->net = CreateNet(net_, step->workspace.get());
  for (const RecurrentLink& link : links_) {
    step->internal.push_back(step->workspace->GetBlob(link.internal));
    step->external.push_back(step->workspace->GetBlob(link.external));
  }
}

bool StepNets::Run(int64_t t, const ScratchWorkspaces& scratch, size_t slot,
                   uint64_t random_position) {
  if (steps_.size() <= slot) steps_.resize(slot + 1);
  Step& step = steps_[slot];
  try {
    if (step.workspace != scratch.steps.at(slot)) Make(scratch, slot, &step);
    *step.timestep->mutable_data<int32_t>() = static_cast<int32_t>(t);
    for (const auto& op : step.net->operators()) {
      if (RandomGenerator* random = op->random()) random->set_position(random_position);
    }
    if (!step.net->Run()) return false;
    CheckLinks(t, step);
    return true;
  } catch (Error& error) {
    error.AddContext(MakeString("step ", t));
    throw;
  }
}

void StepNets::CheckLinks(int64_t t, const Step& step) const {
  for (size_t i = 0; i < links_.size(); ++i) {
    const RecurrentLink& link = links_[i];
    const auto &internal = step.internal[i]->Get<Tensor>(),
               &external = step.external[i]->Get<Tensor>();
    CAFFE_ENFORCE(IsLinked(external, t + link.offset, link.window, internal), "net ", net_->name(),
                  " gave blob ", link.internal, " the shape ", ShapeString(internal.sizes()),
                  " or a storage of its own, but it must fit ", link.window, " row of ",
                  link.external, " ", ShapeString(external.sizes()));
  }
}

std::vector<std::string> BlobsMadeBy(const NetDef& net) {
  std::set<std::string> seen;
  std::vector<std::string> made;
  for (const OperatorDef& op : net.op()) {
    seen.insert(op.input().begin(), op.input().end());
    for (const std::string& output : op.output()) {
      if (seen.insert(output).second) made.push_back(output);
    }
  }
  return made;
}

template <>
void SetZero<CPUContext>(Tensor* x, CPUContext* /*context*/) {
  float* data = x->mutable_data<float>();
  if (x->numel() != 0) std::memset(data, 0, x->nbytes());
}

template <>
void AddTo<CPUContext>(int64_t n, const float* x, float* y, CPUContext* /*context*/) {
  for (int64_t i = 0; i < n; ++i) y[i] += x[i];
}

}  // namespace caffe2
