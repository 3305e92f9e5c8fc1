// The executor "cuda_graph": records successive CUDA operators once and then launches them as one
// CUDA graph.

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/device_waits.h"
#include "caffe2/core/nested_net.h"
#include "caffe2/core/net.h"
#include "caffe2/core/workspace.h"
#include "caffe2/cuda/graph.h"
#include "caffe2/cuda/host_values.h"

namespace caffe2 {
namespace {

// Runs before anything is recorded. They allocate memory and choose plans.
constexpr int kWarmUpRuns = 2;

// An operand as it was when its operator was recorded. The graph is valid while all are unchanged.
struct Operand {
  const void* data = nullptr;
  std::vector<int64_t> dims;
  TypeMeta type;
};

// True if the two lists share an element.
bool Meet(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const std::string& name) {
    return std::find(b.begin(), b.end(), name) != b.end();
  });
}

// True if the bytes of the two tensors overlap.
bool Overlap(const Tensor& a, const Tensor& b) {
  if (!a.has_data() || !b.has_data() || a.device() != b.device()) return false;
  const auto *a_begin = static_cast<const char*>(a.raw_data()),
             *b_begin = static_cast<const char*>(b.raw_data());
  return std::less<>()(a_begin, b_begin + b.nbytes()) &&
         std::less<>()(b_begin, a_begin + a.nbytes());
}

// Operators run in definition order, as in `simple`.
//
// An operator is recorded unless it runs on the host, has an operand that is not a tensor on its
// device, or does something that a graph cannot hold: it waits for the device, or it passes a
// number of the host to a kernel without HostValues. Operators that are not recorded run between
// the graphs. They run before a graph if they are independent of all its operators; so the
// operators that advance the iteration and the learning rate run first.
//
// A collective is recorded if its communicator allows it and the same graph joins the work that it
// starts. At the end of the run that records, the shards agree on which collectives are recorded; a
// shard that is observed agrees to record none. From then on the shards rely on it: a shard that
// cannot launch its graphs throws.
//
// If a tensor has moved or changed its shape or type, the rest of the run goes operator by
// operator, and the next run records again.
class CudaGraphNet final : public NetBase {
 public:
  CudaGraphNet(const std::shared_ptr<const NetDef>& net_def, Workspace* ws)
      : NetBase(net_def, ws), obstacles_(operators_.size()), order_(operators_.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  bool Run() override {
    const ObservedRun observed(this);
    const bool ok = RunAll();
    FinishNet(*this);
    return ok;
  }

 private:
  // Operators order_[begin, end), recorded as one graph or run one by one.
  struct Segment {
    size_t begin = 0, end = 0;
    std::unique_ptr<cuda::Graph> graph;
    std::unique_ptr<cuda::HostValues> values;
    std::vector<Operand> operands;
    std::vector<cuda::RecordableCollective*> collectives;
  };

  bool RunAll() {
    if (runs_ < kWarmUpRuns) {
      ++runs_;
      return RunOneByOne(0);
    }
    if (ObservesOperators()) {
      EnforceGraphsAreNotShared("the net is observed");
      segments_.clear();  // FindMoved does not run now, so memory may move unnoticed
      if (!RunOneByOne(0)) return false;
      AgreeToRecordNone();
      return true;
    }
    if (!segments_.empty()) return RunSegments();
    if (!RunOneByOne(0)) return false;
    Record();
    return true;
  }

  bool RunOneByOne(size_t begin) {
    for (size_t k = begin; k < order_.size(); ++k) {
      if (!RunOne(order_[k])) return false;
    }
    return true;
  }

  bool RunOne(size_t i) {
    if (RunOperator(i)) return true;
    LOG(ERROR) << "an operator reported failure (" << DescribeOperator(i) << ")";
    return false;
  }

  bool RunSegments() {
    for (const Segment& segment : segments_) {
      if (segment.graph != nullptr) {
        if (const std::optional<size_t> moved = FindMoved(segment)) {
          EnforceGraphsAreNotShared(
              MakeString("a tensor of ", DescribeOperator(*moved), " has moved or changed"));
          LOG(INFO) << "net " << Name()
                    << ": a tensor has moved or changed its shape or type; the CUDA graphs "
                    << "will be recorded again";
          const size_t begin = segment.begin;
          segments_.clear();
          return RunOneByOne(begin);
        }
        segment.values->Send();
        Launch(segment);
        continue;
      }
      for (size_t k = segment.begin; k < segment.end; ++k) {
        if (!RunOne(order_[k])) return false;
      }
    }
    return true;
  }

  void Launch(const Segment& segment) const {
    for (cuda::RecordableCollective* collective : segment.collectives) collective->BeginRecorded();
    segment.graph->Launch();
    for (cuda::RecordableCollective* collective : segment.collectives) collective->AwaitRecorded();
  }

  int DeviceOf(const Segment& segment) const {
    return operators_[order_[segment.begin]]->device_option().device_id();
  }

  // Throws EnforceNotMet, with the problem, if other shards rely on collectives in the graphs.
  void EnforceGraphsAreNotShared(const std::string& problem) const {
    for (const Segment& segment : segments_) {
      if (segment.graph == nullptr) continue;
      for (size_t k = segment.begin; k < segment.end; ++k) {
        const auto* collective = CollectiveOf(order_[k]);
        CAFFE_ENFORCE(collective == nullptr || !collective->HasPeers(), problem, ", but ",
                      DescribeOperator(order_[k]),
                      " is in a CUDA graph that the other shards launch, too: it cannot run alone "
                      "here");
      }
    }
  }

  void AgreeToRecordNone() {
    if (agreed_) return;
    for (size_t i = 0; i < operators_.size(); ++i) {
      const auto* collective = CollectiveOf(i);
      if (collective != nullptr && collective->MayBeRecorded() && collective->HasPeers()) {
        obstacles_[i] = "the net was observed when the shards agreed on what they record";
      }
    }
    AgreeOnCollectives();
  }
  void AgreeOnCollectives() {
    if (agreed_) return;
    for (size_t i = 0; i < operators_.size(); ++i) {
      auto* collective = CollectiveOf(i);
      if (collective == nullptr || !collective->MayBeRecorded()) continue;
      collective->AgreeOnRecording(obstacles_[i].empty());
    }
    agreed_ = true;
  }

  uint64_t RandomPosition(size_t i) const {
    const RandomGenerator* random = operators_[i]->random();
    return random != nullptr ? random->position() : 0;
  }

  // Divides the operators into segments and records those that can be.
  void Record() {
    for (size_t i = 0; i < operators_.size(); ++i) {
      if (obstacles_[i].empty()) obstacles_[i] = ObstacleOf(*operators_[i]);
    }
    do {
      segments_.clear();
      Arrange();
      while (!CollectivesAreJoined()) Arrange();
    } while (!TryToRecordAll());
    Describe();
    AgreeOnCollectives();
  }

  // False if the work that a collective starts would not be joined in the same graph. Collectives
  // are then obstacles.
  bool CollectivesAreJoined() {
    bool open = false, joined = true;
    for (size_t k = 0; k < order_.size() && joined; ++k) {
      joined = !open || Continues(k - 1, k);
      const auto* collective = CollectiveOf(order_[k]);
      if (collective == nullptr || !obstacles_[order_[k]].empty()) continue;
      open = (open || collective->LeavesOpen()) && !collective->Joins();
    }
    if (joined && !open) return true;
    for (size_t i = 0; i < operators_.size(); ++i) {
      if (CollectiveOf(i) != nullptr && obstacles_[i].empty()) {
        obstacles_[i] = "an operator between it and the join of its work is not recorded";
      }
    }
    return false;
  }
  cuda::RecordableCollective* CollectiveOf(size_t i) const {
    return dynamic_cast<cuda::RecordableCollective*>(operators_[i].get());
  }

  // False if an operator could not be recorded. It is an obstacle now.
  bool TryToRecordAll() {
    for (size_t begin = 0; begin < order_.size();) {
      size_t end = begin + 1;
      while (end < order_.size() && Continues(begin, end)) ++end;
      Segment segment{begin, end, nullptr, nullptr, {}, {}};
      if (obstacles_[order_[begin]].empty() && !TryToRecord(&segment)) return false;
      segments_.push_back(std::move(segment));
      begin = end;
    }
    return true;
  }

  // Moves operators that are not recorded before recorded ones, as far as the result stays the
  // same. The graphs become longer.
  void Arrange() {
    order_.clear();
    for (size_t i = 0; i < operators_.size(); ++i) {
      size_t place = order_.size();
      if (!obstacles_[i].empty() && !operators_[i]->IsCommunication()) {
        while (place > 0 && obstacles_[order_[place - 1]].empty() &&
               AreIndependent(order_[place - 1], i)) {
          --place;
        }
        // It must go before all of them: a place in between would split the graph as well.
        if (place > 0 && obstacles_[order_[place - 1]].empty()) place = order_.size();
      }
      order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place), i);
    }
  }

  // True if the two operators may swap places.
  bool AreIndependent(size_t a, size_t b) const {
    const OperatorDef &def_a = operators_[a]->debug_def(), &def_b = operators_[b]->debug_def();
    Operands of_a = OperandsOf(def_a), of_b = OperandsOf(def_b);
    for (auto& [operands, def] : {std::pair{&of_a, &def_a}, std::pair{&of_b, &def_b}}) {
      operands->reads.insert(operands->reads.end(), def->control_input().begin(),
                             def->control_input().end());
    }
    if (Meet(of_a.writes, of_b.writes) || Meet(of_a.writes, of_b.reads) ||
        Meet(of_a.reads, of_b.writes) || RunsNestedNets(def_b)) {
      return false;
    }
    // Blobs of different names may share memory.
    const auto disturbs = [this](size_t writer, size_t other) {
      std::vector<const Blob*> operands = operators_[other]->Inputs();
      const std::vector<Blob*>& outputs = operators_[other]->Outputs();
      operands.insert(operands.end(), outputs.begin(), outputs.end());
      for (const Blob* output : operators_[writer]->Outputs()) {
        for (const Blob* operand : operands) {
          const Tensor *written = BlobTensor(*output), *touched = BlobTensor(*operand);
          if (written && touched && Overlap(*written, *touched)) return true;
        }
      }
      return false;
    };
    return !disturbs(a, b) && !disturbs(b, a);
  }

  bool Continues(size_t begin, size_t k) const {
    const size_t first = order_[begin], next = order_[k];
    const bool recorded = obstacles_[first].empty();
    return obstacles_[next].empty() == recorded &&
           (!recorded ||
            IsSameDevice(operators_[first]->device_option(), operators_[next]->device_option()));
  }

  bool TryToRecord(Segment* segment) {
    size_t k = segment->begin;
    const std::vector<uint64_t> random = RandomState();
    const int device = DeviceOf(*segment);
    try {
      segment->values = std::make_unique<cuda::HostValues>(device);
      const cuda::HostValuesScope scope(segment->values.get());
      segment->graph = std::make_unique<cuda::Graph>(device, [&] {
        for (; k < segment->end; ++k) RecordOne(order_[k], *segment->values);
      });
    } catch (const OutOfMemoryError&) {
      // Not the operators' fault: the next run records again.
      SetRandomState(random);
      segments_.clear();
      throw;
    } catch (const std::exception& error) {
      SetRandomState(random);
      // The operator that failed; or all of them, if the graph itself failed.
      const bool found = k < segment->end;
      for (size_t i = found ? k : segment->begin; i < (found ? k + 1 : segment->end); ++i) {
        obstacles_[order_[i]] = error.what();
      }
      return false;
    }
    segment->operands = OperandsOfSegment(*segment);
    for (size_t i = segment->begin; i < segment->end; ++i) {
      if (auto* collective = CollectiveOf(order_[i])) segment->collectives.push_back(collective);
    }
    return true;
  }

  // Records one operator. Throws if the recorded work would be wrong when it is repeated.
  void RecordOne(size_t i, const cuda::HostValues& values) {
    OperatorBase& op = *operators_[i];
    const uint64_t before = RandomPosition(i);
    if (!StartOperator(&op)) throw Error("it reported failure");
    if (RandomPosition(i) != before) throw Error("it draws random numbers");
    for (size_t k = 0; k < op.Inputs().size(); ++k) {
      const Tensor* input = BlobTensor(*op.Inputs()[k]);
      if (input != nullptr && input->GetDeviceType() == CPU && !values.IsSource(*input)) {
        throw Error(MakeString("input ", k, " lies on the host"));
      }
    }
  }

  // Why the operator cannot be recorded, as far as its definition and operands tell; "" if it may
  // be.
  static std::string ObstacleOf(const OperatorBase& op) {
    if (op.device_option().device_type() != CUDA) return "it runs on the host";
    const Device device = ToDevice(op.device_option());
    const auto* collective = dynamic_cast<const cuda::RecordableCollective*>(&op);
    // Input 0 is the common world, which is not a tensor.
    const size_t begin = collective != nullptr && collective->MayBeRecorded() ? 1 : 0;
    for (size_t i = begin; i < op.Inputs().size() + op.Outputs().size(); ++i) {
      const bool input = i < op.Inputs().size();
      const Blob& blob = input ? *op.Inputs()[i] : *op.Outputs()[i - op.Inputs().size()];
      const Tensor* tensor = BlobTensor(blob);
      const bool fits = tensor != nullptr &&
                        (tensor->device() == device || (input && tensor->GetDeviceType() == CPU));
      if (!fits) {
        return MakeString(input ? "input " : "output ", input ? i : i - op.Inputs().size(),
                          " is not a tensor on ", device.ToString());
      }
    }
    return "";
  }

  // Calls f(operator, tensor) for each operand. The tensor is null for a blob that is not a tensor,
  // such as the common world of a collective.
  template <typename F>
  void ForEachOperand(const Segment& segment, const F& f) const {
    for (size_t k = segment.begin; k < segment.end; ++k) {
      const OperatorBase& op = *operators_[order_[k]];
      for (const Blob* blob : op.Inputs()) f(order_[k], BlobTensor(*blob));
      for (const Blob* blob : op.Outputs()) f(order_[k], BlobTensor(*blob));
    }
  }

  std::vector<Operand> OperandsOfSegment(const Segment& segment) const {
    std::vector<Operand> operands;
    ForEachOperand(segment, [&operands](size_t /*i*/, const Tensor* tensor) {
      operands.push_back(tensor == nullptr
                             ? Operand()
                             : Operand{tensor->raw_data(), tensor->sizes(), tensor->dtype()});
    });
    return operands;
  }

  // The first operator with an operand that is not as it was recorded.
  std::optional<size_t> FindMoved(const Segment& segment) const {
    std::optional<size_t> moved;
    size_t next = 0;
    ForEachOperand(segment, [&](size_t i, const Tensor* tensor) {
      const Operand& operand = segment.operands[next++];
      const bool equal = tensor == nullptr ? operand.data == nullptr
                                           : tensor->raw_data() == operand.data &&
                                                 tensor->sizes() == operand.dims &&
                                                 tensor->dtype() == operand.type;
      if (!equal && !moved) moved = i;
    });
    return moved;
  }

  void Describe() const {
    size_t graphs = 0, recorded = 0;
    for (const Segment& segment : segments_) {
      if (segment.graph == nullptr) continue;
      ++graphs;
      recorded += segment.end - segment.begin;
    }
    LOG(INFO) << "net " << Name() << ": " << recorded << " of " << operators_.size()
              << " operators recorded in " << graphs << " CUDA graphs";
    for (size_t i = 0; i < operators_.size(); ++i) {
      if (!obstacles_[i].empty() && operators_[i]->device_option().device_type() == CUDA) {
        LOG(INFO) << "not recorded: " << DescribeOperator(i) << ": " << obstacles_[i];
      }
    }
  }

  int runs_ = 0;
  bool agreed_ = false;                 // with the other shards, on which collectives are recorded
  std::vector<std::string> obstacles_;  // why each operator is not recorded; "" if it is
  std::vector<size_t> order_;           // in which the operators run
  std::vector<Segment> segments_;       // empty until recorded
};

REGISTER_NET(cuda_graph, CudaGraphNet);

}  // namespace
}  // namespace caffe2
