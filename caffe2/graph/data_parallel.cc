#include "caffe2/graph/data_parallel.h"

#include <algorithm>
#include <set>

#include "caffe2/core/argument.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/operator_schema.h"

namespace caffe2 {
namespace {

const char kAllreduceWorld[] = "allreduce_0_cw";
const char kBroadcastWorld[] = "broadcast_0_cw";

OperatorDef MakeOp(const std::string& type, const std::string& name,
                   const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const std::vector<Argument>& args = {}) {
  return GradientMakerBase::CreateOperatorDef(type, name, inputs, outputs, args);
}

std::set<std::string> BlobsOf(const std::vector<ReplicatedBlob>& gradients) {
  std::set<std::string> blobs;
  for (const ReplicatedBlob& gradient : gradients) blobs.insert(gradient.begin(), gradient.end());
  return blobs;
}

// Index of the last operator of the backward pass: the last one that has is_gradient_op or writes
// one of the gradients. Sums of gradients and operators from gradient makers in Python do not have
// it.
int EndOfBackward(const std::vector<Operands>& operands, const NetDef& net,
                  const std::vector<ReplicatedBlob>& gradients) {
  const std::set<std::string> blobs = BlobsOf(gradients);
  for (int i = net.op_size() - 1; i >= 0; --i) {
    const std::vector<std::string>& writes = operands[i].writes;
    if (net.op(i).is_gradient_op() ||
        std::any_of(writes.begin(), writes.end(),
                    [&blobs](const std::string& blob) { return blobs.count(blob) != 0; })) {
      return i;
    }
  }
  return -1;
}

// For each written blob, the index of the operator after which it may be changed: the last one that
// writes it, or reads it in the backward pass. One blob may be the gradient of a parameter and of
// an activation, and the backward pass still needs the latter.
std::map<std::string, int> LastUses(const NetDef& net,
                                    const std::vector<ReplicatedBlob>& gradients) {
  std::vector<Operands> operands;
  for (const OperatorDef& op : net.op()) operands.push_back(OperandsOf(op));
  const int end = EndOfBackward(operands, net, gradients);
  std::map<std::string, int> uses;
  for (int i = 0; i < net.op_size(); ++i) {
    if (i <= end) {
      for (const std::string& blob : operands[i].reads) {
        if (uses.count(blob)) uses[blob] = i;
      }
    }
    for (const std::string& blob : operands[i].writes) uses[blob] = i;
  }
  return uses;
}

// Index of the operator that completes a gradient in all replicas.
int CompletedBy(const std::map<std::string, int>& uses, const ReplicatedBlob& gradient) {
  int last = -1;
  for (const std::string& blob : gradient) {
    auto it = uses.find(blob);
    CAFFE_ENFORCE(it != uses.end(), "no operator writes the gradient ", blob);
    last = std::max(last, it->second);
  }
  return last;
}

// Names of collective operations must be the same on all shards, whatever their devices are.
std::string WithoutScope(const std::string& blob, const DataParallelOptions& options) {
  const std::string scope = DeviceScopeName(options.devices[0], 0);
  return blob.compare(0, scope.size(), scope) == 0 ? blob.substr(scope.size()) : blob;
}

OperatorDef OnDevice(OperatorDef op, const Device& device) {
  *op.mutable_device_option() = ToDeviceOption(device);
  return op;
}

bool OnGpus(const DataParallelOptions& options) { return options.devices[0].type != CPU; }

// An output of the last operator that exchanges data with other shards, or "". The next one must
// wait for it: parallel executors have one thread for all of them, so every shard must run them in
// one order.
std::string LastExchange(const NetDef& net) {
  const auto is_world = [](const std::string& blob) {
    return blob == kAllreduceWorld || blob == kBroadcastWorld;
  };
  for (int i = net.op_size() - 1; i >= 0; --i) {
    const OperatorDef& op = net.op(i);
    if (op.input_size() == 0 || op.output_size() == 0) continue;
    if (is_world(op.input(0)) && !is_world(op.output(0))) return op.output(0);
  }
  return "";
}

// The sum over this shard's devices, on the first of them.
OperatorDef LocalSum(const ReplicatedBlob& blob, const DataParallelOptions& options) {
  // NCCLReduce waits for the streams of all GPUs that wrote its inputs; Sum knows its own only.
  return OnDevice(MakeOp(OnGpus(options) ? "NCCLReduce" : "Sum", "dpm", blob, {blob[0]}),
                  options.devices[0]);
}

// Copies from the first device to the others.
void AddLocalCopies(std::vector<OperatorDef>* ops, const ReplicatedBlob& blob,
                    const DataParallelOptions& options) {
  for (size_t d = 1; d < blob.size(); ++d) {
    ops->push_back(OnDevice(MakeOp("Copy", "dpm", {blob[0]}, {blob[d]}), options.devices[d]));
  }
}

// An operator of the shards' common world, in place on the first replicas of a bucket.
OperatorDef WorldOp(const std::string& type, const std::string& name,
                    const std::vector<ReplicatedBlob>& blobs, const DataParallelOptions& options) {
  std::vector<std::string> outputs;
  for (const ReplicatedBlob& blob : blobs) outputs.push_back(blob[0]);
  std::vector<std::string> inputs = {kAllreduceWorld};
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  OperatorDef op =
      MakeOp(type, name, inputs, outputs, {MakeArgument("timeout_ms", options.timeout_ms)});
  op.set_engine(options.engine);
  return OnDevice(op, options.devices[0]);
}

// The reduction of one bucket; `previous` is the output the reduction must wait for, or "".
std::vector<OperatorDef> BucketOps(const std::vector<ReplicatedBlob>& bucket, int index,
                                   const std::string& previous,
                                   const DataParallelOptions& options) {
  std::vector<OperatorDef> ops;
  if (options.devices.size() > 1) {
    for (const ReplicatedBlob& gradient : bucket) ops.push_back(LocalSum(gradient, options));
  }
  if (options.num_shards > 1) {
    OperatorDef reduce =
        WorldOp("AllreduceBucket", "allreduce_bucket_" + std::to_string(index), bucket, options);
    if (OnGpus(options)) *reduce.add_arg() = MakeArgument("async", true);
    if (!previous.empty()) reduce.add_control_input(previous);
    ops.push_back(reduce);
  }
  if (options.num_shards == 1 || !OnGpus(options)) {
    for (const ReplicatedBlob& gradient : bucket) AddLocalCopies(&ops, gradient, options);
  }
  return ops;
}

std::vector<ReplicatedBlob> Joined(const std::vector<std::vector<ReplicatedBlob>>& buckets) {
  std::vector<ReplicatedBlob> gradients;
  for (const auto& bucket : buckets)
    gradients.insert(gradients.end(), bucket.begin(), bucket.end());
  return gradients;
}

// The operators that complete started reductions.
std::vector<OperatorDef> AwaitOps(const std::vector<ReplicatedBlob>& gradients,
                                  const DataParallelOptions& options) {
  std::vector<OperatorDef> ops = {
      WorldOp("AwaitCollectives", "await_allreduce", gradients, options)};
  for (const ReplicatedBlob& gradient : gradients) AddLocalCopies(&ops, gradient, options);
  return ops;
}

// Index of the first operator from `begin` on that reads a gradient, or the end: the sums must be
// complete before it.
int FirstReader(const NetDef& net, int begin, const std::vector<ReplicatedBlob>& gradients) {
  const std::set<std::string> blobs = BlobsOf(gradients);
  for (int i = begin; i < net.op_size(); ++i) {
    for (const std::string& blob : OperandsOf(net.op(i)).reads) {
      if (blobs.count(blob)) return i;
    }
  }
  return net.op_size();
}

}  // namespace

std::string DeviceScopeName(const Device& device, int index) {
  return device.type == CPU ? "cpu_" + std::to_string(index) + "/"
                            : "gpu_" + std::to_string(device.id) + "/";
}

std::vector<std::vector<ReplicatedBlob>> PlanGradientBuckets(
    const NetDef& net, const std::vector<ReplicatedBlob>& gradients,
    const std::map<std::string, TensorShape>& shapes, const DataParallelOptions& options) {
  const std::map<std::string, int> uses = LastUses(net, gradients);
  struct Item {
    int completed_by;
    const ReplicatedBlob* blob;
    int64_t nbytes;
    TensorProto::DataType type;
  };
  std::vector<Item> items;
  std::set<std::string> seen;
  for (const ReplicatedBlob& gradient : gradients) {
    CAFFE_ENFORCE_EQ(gradient.size(), options.devices.size(), "replicas of a gradient");
    if (!seen.insert(gradient[0]).second) continue;  // of two parameters
    auto shape = shapes.find(gradient[0]);
    CAFFE_ENFORCE(shape != shapes.end() && !shape->second.unknown_shape(), "the shape of gradient ",
                  gradient[0], " is not known");
    items.push_back({CompletedBy(uses, gradient), &gradient,
                     static_cast<int64_t>(NbytesOf(shape->second)), shape->second.data_type()});
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.completed_by < b.completed_by; });

  std::vector<std::vector<ReplicatedBlob>> buckets;
  int64_t nbytes = 0;
  TensorProto::DataType type = TensorProto::UNDEFINED;
  for (const Item& item : items) {
    const int64_t limit = buckets.size() <= 1 ? options.first_bucket_bytes : options.bucket_bytes;
    if (buckets.empty() || nbytes + item.nbytes > limit || item.type != type) {
      buckets.emplace_back();
      nbytes = 0;
      type = item.type;
    }
    buckets.back().push_back(*item.blob);
    nbytes += item.nbytes;
  }
  return buckets;
}

void AddGradientReduction(NetDef* net, const std::vector<std::vector<ReplicatedBlob>>& buckets,
                          const DataParallelOptions& options) {
  const std::vector<ReplicatedBlob> gradients = Joined(buckets);
  const std::map<std::string, int> uses = LastUses(*net, gradients);
  std::multimap<int, OperatorDef> insertions;  // operators to insert after an operator, in order
  std::string previous;
  int at = -1;
  for (size_t b = 0; b < buckets.size(); ++b) {
    // Never before the previous bucket, to keep one order in in-order executors too.
    for (const ReplicatedBlob& gradient : buckets[b])
      at = std::max(at, CompletedBy(uses, gradient));
    for (const OperatorDef& op : BucketOps(buckets[b], static_cast<int>(b), previous, options)) {
      insertions.emplace(at, op);
    }
    previous = buckets[b].back()[0];
  }
  if (OnGpus(options) && options.num_shards > 1 && !buckets.empty()) {
    const int reader = FirstReader(*net, at + 1, gradients);
    for (const OperatorDef& op : AwaitOps(gradients, options)) insertions.emplace(reader - 1, op);
  }
  NetDef result = *net;
  result.clear_op();
  for (int i = 0; i < net->op_size(); ++i) {
    *result.add_op() = net->op(i);
    auto [begin, end] = insertions.equal_range(i);
    for (auto it = begin; it != end; ++it) {
      *result.add_op() = it->second;
      result.mutable_op(result.op_size() - 1)->set_is_gradient_op(true);
    }
  }
  if (options.num_shards > 1) result.add_external_input(kAllreduceWorld);
  *net = std::move(result);
}

void AddCommonWorlds(NetDef* init_net, const DataParallelOptions& options) {
  std::vector<Argument> args = {MakeArgument("size", options.num_shards),
                                MakeArgument("rank", options.shard_id),
                                MakeArgument("timeout_ms", options.timeout_ms),
                                MakeArgument("transport", options.transport),
                                MakeArgument("interface", options.interface),
                                MakeArgument("connect_timeout_ms", options.connect_timeout_ms)};
  if (!options.port_range.empty()) args.push_back(MakeArgument("port_range", options.port_range));
  OperatorDef create = MakeOp("CreateCommonWorld", std::string(kAllreduceWorld) + "_op",
                              {options.store_handler}, {kAllreduceWorld}, args);
  OperatorDef clone = MakeOp("CloneCommonWorld", std::string(kBroadcastWorld) + "_op",
                             {kAllreduceWorld}, {kBroadcastWorld});
  for (OperatorDef* op : {&create, &clone}) {
    op->set_engine(options.engine);
    *op->mutable_device_option() = ToDeviceOption(options.devices[0]);
    *init_net->add_op() = *op;
  }
}

void AddBlobBroadcast(NetDef* net, const std::vector<ReplicatedBlob>& blobs,
                      const DataParallelOptions& options) {
  std::string previous = LastExchange(*net);
  for (const ReplicatedBlob& blob : blobs) {
    std::vector<OperatorDef> ops;
    if (options.num_shards > 1) {
      OperatorDef broadcast =
          MakeOp("Broadcast", "broadcast_" + WithoutScope(blob[0], options),
                 {kBroadcastWorld, blob[0]}, {blob[0]}, {MakeArgument("root", 0)});
      broadcast.set_engine(options.engine);
      *broadcast.mutable_device_option() = ToDeviceOption(options.devices[0]);
      if (!previous.empty()) broadcast.add_control_input(previous);
      previous = blob[0];
      ops.push_back(broadcast);
    }
    AddLocalCopies(&ops, blob, options);
    for (const OperatorDef& op : ops) *net->add_op() = op;
  }
}

void AddParameterBroadcast(NetDef* init_net, const std::vector<ReplicatedBlob>& blobs,
                           const DataParallelOptions& options) {
  if (options.num_shards > 1) AddCommonWorlds(init_net, options);
  AddBlobBroadcast(init_net, blobs, options);
}

}  // namespace caffe2
