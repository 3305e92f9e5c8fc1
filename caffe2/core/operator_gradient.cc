#include "caffe2/core/operator_gradient.h"

#include "caffe2/core/logging.h"
#include "caffe2/core/operator_schema.h"

namespace caffe2 {
namespace {

// Gradient makers rely on the operands that the schema demands.
void CheckSchema(const OperatorDef& def) {
  const OpSchema* schema = OpSchemaRegistry::Schema(def.type());
  if (schema == nullptr) return;
  try {
    schema->Verify(def);
  } catch (Error& error) {
    error.AddContext(MakeString("operator ", def.type(), " does not fit its schema"));
    throw;
  }
}

}  // namespace

template class Registry<std::string, GradientMakerBase, const OperatorDef&,
                        const std::vector<GradientWrapper>&>;
template struct Registerer<std::string, GradientMakerBase, const OperatorDef&,
                           const std::vector<GradientWrapper>&>;

GradientMakerRegistry* GradientRegistry() {
  static auto* registry = new GradientMakerRegistry;
  return registry;
}

int GradientMakerBase::CheckIndex(int i, int size, const char* what) {
  CAFFE_ENFORCE(i >= 0 && i < size, "the gradient maker uses ", what, " ", i,
                " of an operator that has ", size);
  return i;
}

GradientMakerBase::~GradientMakerBase() = default;

std::string GradientMakerBase::I(int i) const {
  return def_.input(CheckIndex(i, def_.input_size(), "input"));
}

std::string GradientMakerBase::O(int i) const {
  return def_.output(CheckIndex(i, def_.output_size(), "output"));
}

std::string GradientMakerBase::GI(int i) {
  CheckIndex(i, def_.input_size(), "input");
  CAFFE_ENFORCE(!g_input_[i].IsSparse(), "input ", def_.input(i), " already has a sparse gradient");
  g_input_[i].dense = GradientName(def_.input(i));
  return g_input_[i].dense;
}

std::string GradientMakerBase::GO(int i) const {
  CheckIndex(i, static_cast<int>(g_output_.size()), "output");
  CAFFE_ENFORCE(g_output_[i].IsDense(), "output ", def_.output(i), " of ", def_.type(),
                g_output_[i].IsSparse() ? " has a sparse gradient where a dense one is needed"
                                        : " has no gradient");
  return g_output_[i].dense;
}

std::string GradientMakerBase::GI_I(int i) {
  CheckIndex(i, def_.input_size(), "input");
  g_input_[i].indices = GradientName(def_.input(i)) + "_indices";
  return g_input_[i].indices;
}

std::string GradientMakerBase::GI_V(int i) {
  CheckIndex(i, def_.input_size(), "input");
  g_input_[i].values = GradientName(def_.input(i)) + "_values";
  return g_input_[i].values;
}

std::string GradientMakerBase::GO_I(int i) const {
  CheckIndex(i, static_cast<int>(g_output_.size()), "output");
  CAFFE_ENFORCE(g_output_[i].IsSparse(), "output ", def_.output(i), " has no sparse gradient");
  return g_output_[i].indices;
}

std::string GradientMakerBase::GO_V(int i) const {
  CheckIndex(i, static_cast<int>(g_output_.size()), "output");
  CAFFE_ENFORCE(g_output_[i].IsSparse(), "output ", def_.output(i), " has no sparse gradient");
  return g_output_[i].values;
}

void GradientMakerBase::SetDense(int i, const std::string& name) {
  CheckIndex(i, def_.input_size(), "input");
  CAFFE_ENFORCE(!g_input_[i].IsSparse(), "input ", def_.input(i), " already has a sparse gradient");
  g_input_[i].dense = name;
}

void GradientMakerBase::SetSparse(int i, const std::string& indices, const std::string& values) {
  CheckIndex(i, def_.input_size(), "input");
  CAFFE_ENFORCE(!g_input_[i].IsDense(), "input ", def_.input(i), " already has a dense gradient");
  g_input_[i].indices = indices;
  g_input_[i].values = values;
}

OperatorDef GradientMakerBase::CreateOperatorDef(const std::string& type, const std::string& name,
                                                 const std::vector<std::string>& inputs,
                                                 const std::vector<std::string>& outputs,
                                                 const std::vector<Argument>& args) {
  OperatorDef def;
  def.set_type(type);
  if (!name.empty()) def.set_name(name);
  for (const auto& input : inputs) def.add_input(input);
  for (const auto& output : outputs) def.add_output(output);
  for (const auto& arg : args) *def.add_arg() = arg;
  return def;
}

GradientOpsMeta GradientMakerBase::Get() {
  GradientOpsMeta meta;
  meta.ops = GetGradientDefs();
  for (OperatorDef& op : meta.ops) {
    // A maker that sets is_gradient_op to false wants the field absent.
    if (op.has_is_gradient_op() && !op.is_gradient_op()) {
      op.clear_is_gradient_op();
    } else {
      op.set_is_gradient_op(true);
    }
    if (CopyDeviceOption() && !op.has_device_option() && def_.has_device_option()) {
      *op.mutable_device_option() = def_.device_option();
    }
    if (CopyEngine() && !op.has_engine() && def_.has_engine()) op.set_engine(def_.engine());
    if (!CopyArguments()) continue;
    for (const Argument& arg : def_.arg()) {
      if (FindArgument(op, arg.name()) == nullptr) *op.add_arg() = arg;
    }
  }
  meta.g_input = g_input_;
  return meta;
}

std::vector<OperatorDef> NoGradient::GetGradientDefs() { return {}; }

std::vector<OperatorDef> ThrowInTheTowel::GetGradientDefs() {
  CAFFE_THROW("no gradient flows through operator ", Def().type(),
              "; put StopGradient before it if that is intended");
}

GradientOpsMeta GetGradientForOp(const OperatorDef& def,
                                 const std::vector<GradientWrapper>& g_output) {
  CAFFE_ENFORCE_EQ(static_cast<int>(g_output.size()), def.output_size());
  auto maker = GradientRegistry()->Create(def.type(), def, g_output);
  CAFFE_ENFORCE(maker != nullptr, "operator ", def.type(), " has no gradient");
  CheckSchema(def);
  return maker->Get();
}

}  // namespace caffe2
