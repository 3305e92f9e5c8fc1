// The executor "cuda_graph": runs of CUDA operators are recorded once and then started by one call.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/net.h"
#include "caffe2/core/workspace.h"
#include "caffe2/cuda/graph.h"

namespace caffe2 {
namespace {

// Runs before anything is recorded: they allocate, choose plans, and show who draws random numbers.
constexpr int kWarmUpRuns = 2;

// What an operator saw when it was recorded: its graph is of use as long as nothing of it changes.
struct Operand {
  const void* data = nullptr;
  std::vector<int64_t> dims;
};

// Operators run in definition order, as those of `simple`. An operator is recorded unless it runs
// on the host, has an operand that is no tensor of its device (whose value or meaning it reads as
// it runs), draws random numbers, or turns out to do what a graph cannot hold, such as to wait.
// Those run between the graphs. Where a tensor has moved or changed its shape, the rest of the run
// goes one by one, and the next run records again.
class CudaGraphNet final : public NetBase {
 public:
  CudaGraphNet(const std::shared_ptr<const NetDef>& net_def, Workspace* ws)
      : NetBase(net_def, ws), obstacles_(operators_.size()) {}

  bool Run() override {
    const ObservedRun observed(this);
    if (NumObservers() != 0 || runs_ < kWarmUpRuns) {
      ++runs_;
      if (!RunOneByOne(0)) return false;
    } else if (segments_.empty()) {
      if (!RunOneByOne(0)) return false;
      Record();
    } else if (!RunSegments()) {
      return false;
    }
    FinishOperators(operators_);
    return true;
  }

 private:
  // Operators [begin, end): recorded as one, or run one by one.
  struct Segment {
    size_t begin = 0, end = 0;
    std::unique_ptr<cuda::Graph> graph;
    std::vector<Operand> operands;
  };

  bool RunOneByOne(size_t begin) {
    for (size_t i = begin; i < operators_.size(); ++i) {
      const uint64_t before = RandomPosition(i);
      if (!RunOne(i)) return false;
      if (RandomPosition(i) != before) obstacles_[i] = "it draws random numbers";
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
        if (!IsAsRecorded(segment)) {
          LOG(INFO) << "net " << Name() << ": tensors have moved or changed their shapes; its CUDA "
                    << "graphs are recorded again";
          const size_t begin = segment.begin;
          segments_.clear();
          return RunOneByOne(begin);
        }
        segment.graph->Launch();
        continue;
      }
      for (size_t i = segment.begin; i < segment.end; ++i) {
        if (!RunOne(i)) return false;
      }
    }
    return true;
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
    for (size_t begin = 0; begin < operators_.size();) {
      size_t end = begin + 1;
      while (end < operators_.size() && Continues(begin, end)) ++end;
      Segment segment{begin, end, nullptr, {}};
      if (obstacles_[begin].empty() && !TryToRecord(&segment)) {
        continue;  // an operator of it was found to be an obstacle
      }
      segments_.push_back(std::move(segment));
      begin = end;
    }
    Describe();
  }

  bool Continues(size_t begin, size_t i) const {
    const bool recorded = obstacles_[begin].empty();
    return obstacles_[i].empty() == recorded &&
           (!recorded ||
            IsSameDevice(operators_[begin]->device_option(), operators_[i]->device_option()));
  }

  bool TryToRecord(Segment* segment) {
    size_t i = segment->begin;
    const std::vector<uint64_t> random = RandomState();
    try {
      segment->graph = std::make_unique<cuda::Graph>(
          operators_[segment->begin]->device_option().device_id(), [&] {
            for (i = segment->begin; i < segment->end; ++i) operators_[i]->RunAsync();
          });
    } catch (const std::exception& error) {
      SetRandomState(random);
      // An operator, or all of them: what the graph does not like is then not known.
      const bool found = i < segment->end;
      for (size_t k = found ? i : segment->begin; k < (found ? i + 1 : segment->end); ++k) {
        obstacles_[k] = error.what();
      }
      return false;
    }
    segment->operands = OperandsOfSegment(*segment);
    return true;
  }

  // Why the operator cannot be recorded, as far as can be seen from outside; "" if it may be.
  static std::string ObstacleOf(const OperatorBase& op) {
    if (op.device_option().device_type() != CUDA) return "it runs on the host";
    const Device device = ToDevice(op.device_option());
    for (size_t i = 0; i < op.Inputs().size() + op.Outputs().size(); ++i) {
      const bool input = i < op.Inputs().size();
      const Blob& blob = input ? *op.Inputs()[i] : *op.Outputs()[i - op.Inputs().size()];
      const Tensor* tensor = BlobTensor(blob);
      if (tensor == nullptr || tensor->device() != device) {
        return MakeString(input ? "input " : "output ", input ? i : i - op.Inputs().size(),
                          " is no tensor on ", device.ToString());
      }
    }
    return "";
  }

  template <typename F>
  void ForEachOperand(const Segment& segment, const F& f) const {
    for (size_t i = segment.begin; i < segment.end; ++i) {
      for (const Blob* blob : operators_[i]->Inputs()) f(BlobTensor(*blob));
      for (const Blob* blob : operators_[i]->Outputs()) f(BlobTensor(*blob));
    }
  }

  std::vector<Operand> OperandsOfSegment(const Segment& segment) const {
    std::vector<Operand> operands;
    ForEachOperand(segment, [&operands](const Tensor* tensor) {
      operands.push_back({tensor->raw_data(), tensor->sizes()});
    });
    return operands;
  }

  bool IsAsRecorded(const Segment& segment) const {
    bool same = true;
    size_t next = 0;
    ForEachOperand(segment, [&](const Tensor* tensor) {
      const Operand& operand = segment.operands[next++];
      same = same && tensor != nullptr && tensor->raw_data() == operand.data &&
             tensor->sizes() == operand.dims;
    });
    return same;
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
  std::vector<std::string> obstacles_;  // of each operator; "" for those that are recorded
  std::vector<Segment> segments_;       // empty until recorded
};

REGISTER_NET(cuda_graph, CudaGraphNet);

}  // namespace
}  // namespace caffe2
