#include "caffe2/graph/memory_plan.h"

#include <algorithm>
#include <vector>

#include "caffe2/core/operator_schema.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/dataflow.h"

namespace caffe2 {
namespace {

constexpr int64_t kAlignment = 64;

struct Life {
  std::string blob;
  int first, last;  // operator positions, both included
  int64_t nbytes;
  int64_t offset = -1;
};

// Operators whose operands keep memory of their own: other threads or other blobs hold on to them,
// or the operator needs the values of its last run.
bool PinsItsOperands(const OperatorDef& op) {
  static const std::set<std::string> types = {"Alias",
                                              "AliasWithName",
                                              "UnsafeCoalesce",
                                              "Allreduce",
                                              "AllreduceBucket",
                                              "AwaitCollectives",
                                              "Broadcast",
                                              "Allgather",
                                              "AllgatherRows",
                                              "ReduceScatter",
                                              "If",
                                              "While",
                                              "ONNXWhile",
                                              "Do",
                                              "Free",
                                              "RecurrentNetwork",
                                              "Iter",
                                              "EnqueueBlobs",
                                              "SafeEnqueueBlobs",
                                              "DequeueBlobs",
                                              "SafeDequeueBlobs",
                                              "WeightedSampleDequeueBlobs"};
  return types.count(op.type()) != 0;
}

// Adds blobs that arguments name, in strings or in subnets.
void AddBlobsOfArguments(const OperatorDef& op, std::set<std::string>* blobs) {
  for (const Argument& arg : op.arg()) {
    blobs->insert(arg.s());
    blobs->insert(arg.strings().begin(), arg.strings().end());
    std::vector<const NetDef*> nets;
    if (arg.has_n()) nets.push_back(&arg.n());
    for (const NetDef& net : arg.nets()) nets.push_back(&net);
    for (const NetDef* net : nets) {
      for (const OperatorDef& nested : net->op()) {
        blobs->insert(nested.input().begin(), nested.input().end());
        blobs->insert(nested.output().begin(), nested.output().end());
        AddBlobsOfArguments(nested, blobs);
      }
    }
  }
}

std::set<std::string> PinnedBlobs(const NetDef& net, const std::set<std::string>& keep) {
  std::set<std::string> pinned = keep;
  pinned.insert(net.external_input().begin(), net.external_input().end());
  pinned.insert(net.external_output().begin(), net.external_output().end());
  for (const OperatorDef& op : net.op()) {
    AddBlobsOfArguments(op, &pinned);
    if (!PinsItsOperands(op)) continue;
    pinned.insert(op.input().begin(), op.input().end());
    pinned.insert(op.output().begin(), op.output().end());
  }
  return pinned;
}

std::vector<Life> FindLives(const NetDef& net, const std::map<std::string, TensorShape>& shapes,
                            std::set<std::string> pinned) {
  std::map<std::string, Life> lives;
  std::set<std::string> read;
  for (int i = 0; i < net.op_size(); ++i) {
    for (const std::string& blob : net.op(i).input()) {
      read.insert(blob);
      auto it = lives.find(blob);
      // Read before the net writes it: the value comes from outside or from the last run.
      if (it == lives.end())
        pinned.insert(blob);
      else
        it->second.last = i;
    }
    for (const std::string& blob : net.op(i).output()) {
      auto shape = shapes.find(blob);
      if (pinned.count(blob)) continue;
      if (shape == shapes.end() || shape->second.unknown_shape() ||
          shape->second.data_type() == TensorProto::STRING) {
        pinned.insert(blob);
        continue;
      }
      const auto nbytes = static_cast<int64_t>(NbytesOf(shape->second));
      auto [it, inserted] = lives.try_emplace(blob, Life{blob, i, i, nbytes});
      it->second.last = i;
      it->second.nbytes = std::max(it->second.nbytes, nbytes);
    }
  }
  std::vector<Life> result;
  for (auto& [blob, life] : lives) {
    if (!pinned.count(blob) && read.count(blob) && life.nbytes > 0) result.push_back(life);
  }
  return result;
}

int64_t RoundUp(int64_t nbytes) { return (nbytes + kAlignment - 1) / kAlignment * kAlignment; }

// The lowest offset of the smallest gap between the placed blobs that live at the same time.
int64_t FindOffset(const Life& life, const std::vector<const Life*>& placed) {
  int64_t best = -1, best_gap = 0, end = 0;
  for (const Life* other : placed) {  // by offset
    if (other->last < life.first || other->first > life.last) continue;
    const int64_t gap = other->offset - end;
    if (gap >= RoundUp(life.nbytes) && (best < 0 || gap < best_gap)) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, other->offset + RoundUp(other->nbytes));
  }
  return best >= 0 ? best : end;
}

}  // namespace

MemoryPlan PlanMemory(const NetDef& net, const std::map<std::string, TensorShape>& shapes,
                      const std::set<std::string>& keep) {
  std::vector<Life> lives = FindLives(net, shapes, PinnedBlobs(net, keep));
  std::sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) {
    return a.nbytes != b.nbytes ? a.nbytes > b.nbytes : a.blob < b.blob;
  });
  MemoryPlan plan;
  std::vector<const Life*> placed;
  for (Life& life : lives) {
    life.offset = FindOffset(life, placed);
    auto position =
        std::upper_bound(placed.begin(), placed.end(), &life,
                         [](const Life* a, const Life* b) { return a->offset < b->offset; });
    placed.insert(position, &life);
    plan.slots[life.blob] = {life.offset, life.nbytes, shapes.at(life.blob)};
    plan.arena_bytes = std::max(plan.arena_bytes, life.offset + RoundUp(life.nbytes));
    plan.unplanned_bytes += RoundUp(life.nbytes);
  }
  return plan;
}

std::map<std::string, std::string> PlanSharedBlobs(
    const NetDef& net, const std::set<std::string>& candidates,
    const std::map<std::string, TensorShape>& shapes) {
  std::set<std::string> pinned = PinnedBlobs(net, {});
  std::map<std::string, std::string> devices;
  std::map<std::string, TensorShape> known;
  for (const OperatorDef& op : net.op()) {
    for (const std::string& blob : op.output()) {
      devices.emplace(blob, ToDevice(DeviceOptionOf(op, net)).ToString());
      auto shape = shapes.find(blob);
      const bool has_shape = shape != shapes.end() && !shape->second.unknown_shape();
      known[blob] = has_shape ? shape->second : CreateTensorShape({1}, TensorProto::FLOAT);
      if (!candidates.count(blob)) pinned.insert(blob);
    }
  }
  std::vector<Life> lives = FindLives(net, known, std::move(pinned));
  std::stable_sort(lives.begin(), lives.end(),
                   [](const Life& a, const Life& b) { return a.first < b.first; });

  struct Owner {
    const Life* first;  // gives the shared blob its name
    int last;           // the last operator that uses it
    int64_t nbytes;
  };
  std::vector<Owner> owners;
  std::map<std::string, std::string> shared;
  for (const Life& life : lives) {
    Owner* best = nullptr;
    for (Owner& owner : owners) {
      const std::string& name = owner.first->blob;
      if (owner.last >= life.first || devices[name] != devices[life.blob] ||
          known[name].data_type() != known[life.blob].data_type()) {
        continue;
      }
      if (best == nullptr ||
          std::abs(owner.nbytes - life.nbytes) < std::abs(best->nbytes - life.nbytes)) {
        best = &owner;
      }
    }
    if (best == nullptr) {
      owners.push_back({&life, life.last, life.nbytes});
      continue;
    }
    shared[life.blob] = best->first->blob;
    best->last = life.last;
    best->nbytes = std::max(best->nbytes, life.nbytes);
  }
  return shared;
}

void RenameBlobs(const std::map<std::string, std::string>& renamed, NetDef* net) {
  auto rename = [&renamed](std::string* blob) {
    auto it = renamed.find(*blob);
    if (it != renamed.end()) *blob = it->second;
  };
  for (OperatorDef& op : *net->mutable_op()) {
    for (std::string& blob : *op.mutable_input()) rename(&blob);
    for (std::string& blob : *op.mutable_output()) rename(&blob);
    for (std::string& blob : *op.mutable_control_input()) rename(&blob);
  }
}

void ApplyMemoryPlan(const MemoryPlan& plan, const Device& device, Workspace* ws) {
  if (plan.arena_bytes == 0) return;
  const std::shared_ptr<void> arena = GetAllocator(device.type).Allocate(plan.arena_bytes, device);
  for (const auto& [blob, slot] : plan.slots) {
    Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(blob), device);
    tensor->Resize(GetDimsVector(slot.shape));
    // Each tensor shares ownership of the block; the last one frees it.
    std::shared_ptr<void> data(arena, static_cast<char*>(arena.get()) + slot.offset);
    tensor->ShareExternalPointer(std::move(data), DataTypeToTypeMeta(slot.shape.data_type()),
                                 slot.nbytes);
  }
}

}  // namespace caffe2
