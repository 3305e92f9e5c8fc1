#include "operators/do_op.h"

#include <algorithm>
#include <set>

namespace caffe2 {

std::shared_ptr<Workspace> WorkspaceStack::Push(const Workspace* parent, const Bindings& bindings) {
  return stack_.emplace_back(std::make_shared<Workspace>(parent, bindings));
}

std::shared_ptr<Workspace> WorkspaceStack::Reuse(const Workspace* parent,
                                                 const Bindings& bindings) {
  return stack_.empty() ? Push(parent, bindings) : stack_.back();
}

std::shared_ptr<Workspace> WorkspaceStack::Pop(const Workspace* parent, const Bindings& bindings) {
  CAFFE_ENFORCE(!stack_.empty(), "there is no scope left for the gradient of Do");
  std::shared_ptr<Workspace> top = std::move(stack_.back());
  stack_.pop_back();
  Bindings added = bindings;
  for (const std::string& name : top->LocalBlobs()) added.erase(name);
  top->AddBlobMapping(parent, added);
  return top;
}

namespace {

// The outer blobs in the order in which outer_blobs_idx counts them: the inputs, then the outputs
// that are no inputs, without the scope.
std::vector<std::string> OuterNames(const OperatorDef& def) {
  const int inputs = def.input_size(), outputs = def.output_size();
  CAFFE_ENFORCE(inputs > 0 && outputs > 0 && def.input(inputs - 1) == def.output(outputs - 1),
                "the last input and the last output must be the same scope blob");
  std::vector<std::string> names(def.input().begin(), def.input().end() - 1);
  for (int i = 0; i + 1 < outputs; ++i) {
    if (std::find(names.begin(), names.end(), def.output(i)) == names.end()) {
      names.push_back(def.output(i));
    }
  }
  return names;
}

WorkspaceStack::Bindings ReadBindings(const OperatorDef& def) {
  const ArgumentHelper arguments(def);
  const auto inner = arguments.GetRepeatedArgument<std::string>("inner_blobs");
  const auto index = arguments.GetRepeatedArgument<int>("outer_blobs_idx");
  const std::vector<std::string> outer = OuterNames(def);
  CAFFE_ENFORCE_EQ(inner.size(), index.size(), "inner_blobs and outer_blobs_idx differ in length");
  WorkspaceStack::Bindings bindings;
  std::set<int> used;
  for (size_t i = 0; i < inner.size(); ++i) {
    CAFFE_ENFORCE(index[i] >= 0 && index[i] < static_cast<int>(outer.size()), "outer_blobs_idx ",
                  index[i], " is out of range for ", outer.size(), " blobs");
    CAFFE_ENFORCE(used.insert(index[i]).second, "outer blob ", outer[index[i]], " is bound twice");
    CAFFE_ENFORCE(bindings.emplace(inner[i], outer[index[i]]).second, "inner blob ", inner[i],
                  " is bound twice");
  }
  CAFFE_ENFORCE_EQ(used.size(), outer.size(), "not all outer blobs are bound");
  return bindings;
}

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
      bindings_(ReadBindings(def)),
      is_gradient_(def.is_gradient_op()),
      copy_external_blobs_(GetSingleArgument<bool>("copy_external_blobs", false)),
      reuse_workspace_(GetSingleArgument<bool>("reuse_workspace", false)) {
  CAFFE_ENFORCE(!reuse_workspace_ || !is_gradient_, "a gradient cannot reuse the workspace");
  CAFFE_ENFORCE(!reuse_workspace_ || !copy_external_blobs_,
                "reuse_workspace and copy_external_blobs exclude each other");
  CAFFE_ENFORCE(!net_def_.name().empty(), "the net must have a name");
}

bool DoOp::RunOnDevice() {
  auto* stack = Output<WorkspaceStack>(OutputSize() - 1);
  const std::shared_ptr<Workspace> inner = is_gradient_       ? stack->Pop(parent_, bindings_)
                                           : reuse_workspace_ ? stack->Reuse(parent_, bindings_)
                                                              : stack->Push(parent_, bindings_);
  NetBase* net = inner->GetNet(net_def_.name());
  if (net == nullptr) net = inner->CreateNet(net_def_);
  const bool ok = net->Run();
  if (copy_external_blobs_ && !is_gradient_) CopyForwardedTensors(inner.get());
  return ok;
}

// The backward pass needs the values of this run, which the next one overwrites.
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
        "Runs a net in a workspace of its own, in which it sees the blobs that are bound and "
        "no others. Workspaces are kept on a stack, so that a gradient net (is_gradient_op), "
        "run in reverse order, finds the inner blobs of its forward run. There is no gradient "
        "maker for it here: the model builder makes the gradient net.")
    .Arg("net", "The net.", true)
    .Arg("inner_blobs", "Names under which the net sees the outer blobs.")
    .Arg("outer_blobs_idx",
         "For each of inner_blobs the outer blob: an index into the inputs "
         "followed by the outputs that are no inputs, without the scope.")
    .Arg("copy_external_blobs",
         "1: keep copies of the bound tensors with the scope, as they are "
         "after the run. Default 0.")
    .Arg("reuse_workspace", "1: run in the last workspace of the stack. Default 0.")
    .Input(0, "input",
           "First of the outer blobs that are read; the last input is the scope, a "
           "blob made by CreateScope.")
    .Output(0, "output", "First of the outer blobs that are written; the last is the scope.");
OPERATOR_SCHEMA(CreateScope)
    .NumInputs(0)
    .NumOutputs(1)
    .SetDoc("Makes an empty scope for Do, or empties one.")
    .Output(0, "scope", "The stack of workspaces.");
OPERATOR_SCHEMA(HasScope)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{CreateTensorShape({1}, TensorProto::BOOL)};
    })
    .SetDoc("Whether a scope holds workspaces that no gradient has come back to.")
    .Input(0, "scope", "The stack of workspaces.")
    .Output(0, "has_scope", "One bool.");
SHOULD_NOT_DO_GRADIENT(Do);
NO_GRADIENT(CreateScope);
NO_GRADIENT(HasScope);

}  // namespace caffe2
