// If, While: control flow over nets that are arguments.
#include "caffe2/core/nested_net.h"
#include "caffe2/core/net.h"
#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/control/iteration_limit.h"

namespace caffe2 {
namespace {

// The net in the argument `name`, created in the operator's workspace; null if there is none.
std::unique_ptr<NetBase> NetArgument(const OperatorBase& op, const std::string& name,
                                     Workspace* ws) {
  if (!op.HasArgument(name)) return nullptr;
  return CreateNet(std::make_shared<const NetDef>(op.GetSingleArgument<NetDef>(name, NetDef())),
                   ws);
}

// The random state of two nets, either of which may be null.
std::vector<uint64_t> RandomStateOf(const NetBase* first, const NetBase* second) {
  std::vector<uint64_t> state;
  for (const NetBase* net : {first, second}) {
    if (net == nullptr) continue;
    const std::vector<uint64_t> part = net->RandomState();
    state.insert(state.end(), part.begin(), part.end());
  }
  return state;
}

void SetRandomStateOf(NetBase* first, NetBase* second, const std::vector<uint64_t>& state) {
  const auto split =
      state.begin() + static_cast<int64_t>(first == nullptr ? 0 : CountOperators(first->net_def()));
  if (first != nullptr) first->SetRandomState({state.begin(), split});
  if (second != nullptr) second->SetRandomState({split, state.end()});
}

bool ReadCondition(const OperatorBase& op) {
  const Tensor& condition = op.Input<Tensor>(0);
  CAFFE_ENFORCE(condition.numel() == 1, "the condition must be one bool, found shape ",
                ShapeString(condition.sizes()));
  return *condition.data<bool>();
}

class IfOp final : public Operator<CPUContext> {
 public:
  IfOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        then_net_(NetArgument(*this, "then_net", ws)),
        else_net_(NetArgument(*this, "else_net", ws)) {}

  bool RunOnDevice() override {
    NetBase* net = ReadCondition(*this) ? then_net_.get() : else_net_.get();
    return net == nullptr || net->Run();
  }

  std::vector<uint64_t> NestedRandomState() const override {
    return RandomStateOf(then_net_.get(), else_net_.get());
  }
  void SetNestedRandomState(const std::vector<uint64_t>& state) override {
    SetRandomStateOf(then_net_.get(), else_net_.get(), state);
  }

 private:
  std::unique_ptr<NetBase> then_net_, else_net_;
};

class WhileOp final : public Operator<CPUContext> {
 public:
  WhileOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        loop_net_(NetArgument(*this, "loop_net", ws)),
        cond_net_(NetArgument(*this, "cond_net", ws)),
        limit_(def, ws) {}

  bool RunOnDevice() override {
    for (int64_t iteration = 0;; ++iteration) {
      if (cond_net_ != nullptr && !cond_net_->Run()) return false;
      if (!ReadCondition(*this)) return true;
      limit_.Check(iteration);
      if (!loop_net_->Run()) return false;
    }
  }

  std::vector<uint64_t> NestedRandomState() const override {
    return RandomStateOf(loop_net_.get(), cond_net_.get());
  }
  void SetNestedRandomState(const std::vector<uint64_t>& state) override {
    SetRandomStateOf(loop_net_.get(), cond_net_.get(), state);
  }

 private:
  std::unique_ptr<NetBase> loop_net_, cond_net_;
  const IterationLimit limit_;
};

void DescribeControl(OpSchema& schema) {
  schema.NumInputs(1, std::numeric_limits<int>::max())
      .NumOutputs(0, std::numeric_limits<int>::max())
      .AllowInplace([](int, int) { return true; })
      .TensorInferenceFunction(InferUnknownShapes)
      .Input(0, "condition",
             "One bool, in host memory. Further inputs are the blobs that the "
             "nets read.")
      .Output(0, "output", "First of the blobs that the nets write.");
}

}  // namespace

REGISTER_CPU_OPERATOR(If, IfOp);
REGISTER_CPU_OPERATOR(While, WhileOp);
OPERATOR_SCHEMA(If)
    .FillUsing(DescribeControl)
    .SetDoc(
        "Runs then_net if the condition is true, else else_net, if there is one. The nets work in "
        "the operator's workspace. caffe2/graph/if_gradient.cc makes its gradient.")
    .Arg<NetDef>("then_net", "The net that runs if the condition is true.", true)
    .Arg<NetDef>("else_net", "The net that runs otherwise. Default: nothing.")
    .CpuOnly(cpu_only::kRunsNets);
OPERATOR_SCHEMA(While)
    .FillUsing(DescribeControl)
    .SetDoc(
        "Runs a net as long as the condition is true. In each iteration it runs the condition net, "
        "if there is one, tests the condition, and runs the loop net. The nets work in the "
        "operator's workspace. caffe2/graph/while_gradient.cc makes its gradient, which needs a "
        "body of one Do operator.")
    .Arg<NetDef>("loop_net", "The body of the loop.", true)
    .Arg<NetDef>("cond_net", "The net that writes the condition. Default: the body writes it.")
    .FillUsing(IterationLimit::Describe)
    .CpuOnly(cpu_only::kRunsNets);

}  // namespace caffe2
