#include "operators/control/do_op.h"

#include "caffe2/core/do_bindings.h"
#include "caffe2/core/nested_net.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {

std::shared_ptr<Workspace> WorkspaceStack::Push(const Workspace* parent, const Bindings& bindings) {
  return stack_.emplace_back(std::make_shared<Workspace>(parent, bindings));
}

std::shared_ptr<Workspace> WorkspaceStack::Reuse(const Workspace* parent,
                                                 const Bindings& bindings) {
  if (stack_.empty()) return Push(parent, bindings);
  Bind(parent, bindings, stack_.back().get());
  return stack_.back();
}

std::shared_ptr<Workspace> WorkspaceStack::Pop(const Workspace* parent, const Bindings& bindings) {
  CAFFE_ENFORCE(!stack_.empty(), "there is no scope left for the gradient of Do");
  std::shared_ptr<Workspace> top = std::move(stack_.back());
  stack_.pop_back();
  Bind(parent, bindings, top.get());
  return top;
}

void WorkspaceStack::Bind(const Workspace* parent, Bindings bindings, Workspace* inner) {
  for (const std::string& name : inner->LocalBlobs()) bindings.erase(name);
  inner->AddBlobMapping(parent, bindings);
}

namespace {

class CreateScopeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    Output<WorkspaceStack>(0)->Clear();
    return true;
  }
};

class HasScopeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const bool has_scope = !Input<WorkspaceStack>(0).empty();
    Tensor* Y = Output(0);
    Y->Resize(1);
    *Y->mutable_data<bool>() = has_scope;
    return true;
  }
};

}  // namespace

DoOp::DoOp(const OperatorDef& def, Workspace* ws)
    : Operator<CPUContext>(def, ws),
      parent_(ws),
      net_def_(GetSingleArgument<NetDef>("net", NetDef())),
      bindings_(ReadDoBindings(def)),
      is_gradient_(def.is_gradient_op()),
      copy_external_blobs_(GetSingleArgument<bool>("copy_external_blobs", false)),
      reuse_workspace_(GetSingleArgument<bool>("reuse_workspace", false)),
      random_state_(CountOperators(net_def_)) {
  CAFFE_ENFORCE(!reuse_workspace_ || !is_gradient_, "a gradient cannot reuse the workspace");
  CAFFE_ENFORCE(!reuse_workspace_ || !copy_external_blobs_,
                "the arguments reuse_workspace and copy_external_blobs cannot be used together");
  CAFFE_ENFORCE(!net_def_.name().empty(), "the net must have a name");
}

bool DoOp::RunOnDevice() {
  auto* stack = Output<WorkspaceStack>(OutputSize() - 1);
  const std::shared_ptr<Workspace> inner = is_gradient_       ? stack->Pop(parent_, bindings_)
                                           : reuse_workspace_ ? stack->Reuse(parent_, bindings_)
                                                              : stack->Push(parent_, bindings_);
  NetBase* net = inner->GetNet(net_def_.name());
  if (net == nullptr) net = inner->CreateNet(net_def_);
  net->SetRandomState(random_state_);
  const bool ok = net->Run();
  random_state_ = net->RandomState();
  if (copy_external_blobs_ && !is_gradient_) CopyForwardedTensors(inner.get());
  return ok;
}

// The backward pass needs the values of this run, and the next run overwrites them.
void DoOp::CopyForwardedTensors(Workspace* inner) const {
  for (const auto& [inner_name, outer_name] : bindings_) {
    const Blob* outer = parent_->GetBlob(outer_name);
    const Tensor* tensor = outer == nullptr ? nullptr : BlobTensor(*outer);
    CAFFE_ENFORCE(tensor != nullptr, "blob ", outer_name, " holds no tensor to copy");
    BlobGetMutableTensor(inner->CreateLocalBlob(inner_name), tensor->device())->CopyFrom(*tensor);
  }
}

REGISTER_CPU_OPERATOR(Do, DoOp);
REGISTER_CPU_OPERATOR(CreateScope, CreateScopeOp);
REGISTER_CPU_OPERATOR(HasScope, HasScopeOp);

OPERATOR_SCHEMA(Do)
    .NumInputs(1, std::numeric_limits<int>::max())
    .NumOutputs(1, std::numeric_limits<int>::max())
    .AllowInplace([](int, int) { return true; })
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>(def.output_size(), UnknownTensorShape());
    })
    .SetDoc(
        "Runs a net in a workspace of its own, in which it sees only the bound blobs of the outer "
        "workspace. Workspaces are kept on a stack, so that gradient nets (is_gradient_op), which "
        "run in reverse order, find the inner blobs of their forward runs. "
        "caffe2/graph/do_gradient.cc makes its gradient.")
    .Arg<NetDef>("net", "The net.", true)
    .ArgList<std::string>("inner_blobs", "Names under which the net sees the outer blobs.")
    .ArgList<int>("outer_blobs_idx",
                  "For each of inner_blobs the outer blob: an index into the inputs, followed by "
                  "the outputs that are not inputs, without the scope.")
    .Arg<bool>(
        "copy_external_blobs",
        "1: keep copies of the bound tensors with the scope, as they are after the run. Default 0.")
    .Arg<bool>("reuse_workspace", "1: run in the last workspace of the stack. Default 0.")
    .ArgList<std::string>("saved_fwd_blobs",
                          "For a gradient: the inner blobs of the forward run that its net reads. "
                          "For information only.")
    .Input(0, "input",
           "First of the outer blobs that are read; the last input is the scope, a "
           "blob made by CreateScope.")
    .Output(0, "output", "First of the outer blobs that are written; the last is the scope.")
    .CpuOnly(cpu_only::kRunsNets);
OPERATOR_SCHEMA(CreateScope)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes an empty scope for Do, or empties one.")
    .Output(0, "scope", "The stack of workspaces.")
    .CpuOnly(cpu_only::kRunsNets);
OPERATOR_SCHEMA(HasScope)
    .NumInputs(1)
    .NumOutputs(1)
    .NonTensorInputs({0})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{CreateTensorShape({1}, TensorProto::BOOL)};
    })
    .SetDoc("Tells whether a scope holds workspaces that no gradient has taken yet.")
    .Input(0, "scope", "The stack of workspaces.")
    .Output(0, "has_scope", "One bool.")
    .CpuOnly(cpu_only::kRunsNets);
NO_GRADIENT(CreateScope);
NO_GRADIENT(HasScope);

}  // namespace caffe2
