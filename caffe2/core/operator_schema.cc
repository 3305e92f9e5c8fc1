#include "caffe2/core/operator_schema.h"

#include "caffe2/core/inputs_text.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/tensor.h"

namespace caffe2 {
namespace {

std::string RangeText(int min, int max, int unlimited) {
  if (min == max) return std::to_string(min);
  if (max == unlimited) return "at least " + std::to_string(min);
  return std::to_string(min) + " to " + std::to_string(max);
}

// True for these pairs (input, output).
std::function<bool(int, int)> IsOneOf(std::set<std::pair<int, int>> pairs) {
  return [pairs = std::move(pairs)](int input, int output) {
    return pairs.count({input, output}) != 0;
  };
}

void DescribeOperand(int index, const char* name, const char* description,
                     std::vector<OpSchema::Parameter>* operands) {
  if (static_cast<int>(operands->size()) <= index) operands->resize(index + 1);
  operands->at(index).name = name;
  operands->at(index).description = description;
}

}  // namespace

const char* ArgumentTypeName(ArgumentType type) {
  switch (type) {
    case ArgumentType::kInt:
      return "int";
    case ArgumentType::kBool:
      return "bool";
    case ArgumentType::kFloat:
      return "float";
    case ArgumentType::kString:
      return "string";
    case ArgumentType::kNet:
      return "net";
    case ArgumentType::kDataType:
      return "data type";
    case ArgumentType::kInts:
      return "list of int";
    case ArgumentType::kFloats:
      return "list of float";
    case ArgumentType::kStrings:
      return "list of string";
    case ArgumentType::kAny:
      break;
  }
  return "any";
}

OpSchema& OpSchema::NumInputs(int min, int max) {
  min_input_ = min;
  max_input_ = max;
  return *this;
}
OpSchema& OpSchema::NumInputs(std::set<int> allowed) {
  CAFFE_ENFORCE(!allowed.empty());
  NumInputs(*allowed.begin(), *allowed.rbegin());
  return NumInputs([allowed = std::move(allowed)](int n) { return allowed.count(n) != 0; });
}
OpSchema& OpSchema::NumInputs(std::function<bool(int)> allowed) {
  num_inputs_allowed_ = std::move(allowed);
  return *this;
}
OpSchema& OpSchema::NumOutputs(int min, int max) {
  min_output_ = min;
  max_output_ = max;
  return *this;
}
OpSchema& OpSchema::NumOutputs(std::set<int> allowed) {
  CAFFE_ENFORCE(!allowed.empty());
  NumOutputs(*allowed.begin(), *allowed.rbegin());
  return NumOutputs([allowed = std::move(allowed)](int n) { return allowed.count(n) != 0; });
}
OpSchema& OpSchema::NumOutputs(std::function<bool(int)> allowed) {
  num_outputs_allowed_ = std::move(allowed);
  return *this;
}
OpSchema& OpSchema::NumInputsOutputs(std::function<bool(int, int)> allowed) {
  num_inputs_outputs_allowed_ = std::move(allowed);
  return *this;
}
OpSchema& OpSchema::OutputCalculator(std::function<int(int)> calculator) {
  calculator_ = std::move(calculator);
  return *this;
}

OpSchema& OpSchema::AllowInplace(std::initializer_list<std::pair<int, int>> pairs) {
  return AllowInplace(IsOneOf(pairs));
}
OpSchema& OpSchema::AllowInplace(std::function<bool(int, int)> allowed) {
  inplace_allowed_ = std::move(allowed);
  return *this;
}
OpSchema& OpSchema::AllowOneToOneInplace() {
  return AllowInplace([](int input, int output) { return input == output; });
}
OpSchema& OpSchema::EnforceInplace(std::initializer_list<std::pair<int, int>> pairs) {
  return EnforceInplace(IsOneOf(pairs));
}
OpSchema& OpSchema::EnforceInplace(std::function<bool(int, int)> enforced) {
  inplace_enforced_ = std::move(enforced);
  return *this;
}
OpSchema& OpSchema::EnforceOneToOneInplace() {
  return EnforceInplace([](int input, int output) { return input == output; });
}

OpSchema& OpSchema::IdenticalTypeAndShape() {
  return TensorInferenceFunction(
      [](const OperatorDef&, const std::vector<TensorShape>& in) { return in; });
}
OpSchema& OpSchema::IdenticalTypeAndShapeOfInput(int index) {
  return TensorInferenceFunction(
      [index](const OperatorDef& def, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>(def.output_size(), in.at(index));
      });
}
OpSchema& OpSchema::IdenticalTypeAndShapeOfInputDim(int index, int dim) {
  return TensorInferenceFunction(
      [index, dim](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const TensorShape& source = in.at(index);
        CAFFE_ENFORCE(dim < source.dims_size(), "input ", index, " needs axis ", dim,
                      ", found shape ", ShapeString(GetDimsVector(source)));
        return std::vector<TensorShape>(def.output_size(),
                                        CreateTensorShape({source.dims(dim)}, source.data_type()));
      });
}
OpSchema& OpSchema::ScalarType(TensorProto::DataType type) {
  return TensorInferenceFunction([type](const OperatorDef& def, const std::vector<TensorShape>&) {
    return std::vector<TensorShape>(def.output_size(), CreateTensorShape({}, type));
  });
}

OpSchema& OpSchema::NonTensorInputs(std::initializer_list<int> indices) {
  non_tensor_inputs_ = indices;
  return *this;
}
OpSchema& OpSchema::NonTensorOutputs(std::initializer_list<int> indices) {
  non_tensor_outputs_ = indices;
  return *this;
}

OpSchema& OpSchema::TensorInferenceFunction(TensorInference function) {
  tensor_inference_ = std::move(function);
  return *this;
}

std::vector<TensorShape> OpSchema::InferTensor(const OperatorDef& def,
                                               const std::vector<TensorShape>& inputs) const {
  std::vector<TensorShape> shapes;
  bool known = static_cast<bool>(tensor_inference_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_tensor_input(static_cast<int>(i))) known = known && !inputs[i].unknown_shape();
  }
  if (known) {
    try {
      Verify(def);
      shapes = tensor_inference_(def, inputs);
    } catch (Error& error) {
      error.AddContext("shape inference of " + def.type() +
                       (def.output_size() ? " that writes " + def.output(0) : ""));
      const std::string text = InputsText(def, inputs);
      if (!text.empty()) error.AddContext(text);
      throw;
    }
  }
  shapes.resize(def.output_size(), UnknownTensorShape());
  for (const int output : non_tensor_outputs_) {
    if (output < def.output_size()) shapes[output] = UnknownTensorShape();
  }
  return shapes;
}

OpSchema& OpSchema::CostInferenceFunction(CostInference function) {
  cost_inference_ = std::move(function);
  return *this;
}

OpSchema::Cost OpSchema::InferCost(const OperatorDef& def,
                                   const std::vector<TensorShape>& inputs) const {
  if (cost_inference_) return cost_inference_(def, inputs);
  Cost cost;
  for (const TensorShape& input : inputs) cost.bytes_read += NbytesOf(input);
  for (const TensorShape& output : InferTensor(def, inputs)) {
    cost.bytes_written += NbytesOf(output);
    cost.flops += NumelOf(output);
  }
  return cost;
}

OpSchema& OpSchema::SetDoc(std::string_view doc) {
  doc_ = doc;
  return *this;
}
OpSchema& OpSchema::AddArgument(const char* name, ArgumentType type, const char* description,
                                bool required) {
  args_.push_back({name, description, required, type, {}});
  return *this;
}
OpSchema& OpSchema::ArgOneOf(const char* name, std::vector<std::string> choices,
                             const char* description, bool required) {
  args_.push_back({name, description, required, ArgumentType::kString, std::move(choices)});
  return *this;
}
OpSchema& OpSchema::Input(int index, const char* name, const char* description) {
  DescribeOperand(index, name, description, &inputs_);
  return *this;
}
OpSchema& OpSchema::Output(int index, const char* name, const char* description) {
  DescribeOperand(index, name, description, &outputs_);
  return *this;
}
OpSchema& OpSchema::Private() {
  private_ = true;
  return *this;
}
OpSchema& OpSchema::CpuOnly(std::string_view reason) {
  cpu_only_ = reason;
  return *this;
}

OpSchema& OpSchema::InputsCanCrossDevices() {
  inputs_can_cross_devices_ = true;
  return *this;
}

void OpSchema::Verify(const OperatorDef& def) const {
  const int inputs = def.input_size(), outputs = def.output_size();
  CAFFE_ENFORCE(inputs >= min_input_ && inputs <= max_input_, type_, " takes ",
                RangeText(min_input_, max_input_, kUnlimited), " inputs, but has ", inputs);
  CAFFE_ENFORCE(outputs >= min_output_ && outputs <= max_output_, type_, " writes ",
                RangeText(min_output_, max_output_, kUnlimited), " outputs, but has ", outputs);
  CAFFE_ENFORCE(!num_inputs_allowed_ || num_inputs_allowed_(inputs), type_, " does not take ",
                inputs, " inputs");
  CAFFE_ENFORCE(!num_outputs_allowed_ || num_outputs_allowed_(outputs), type_, " does not write ",
                outputs, " outputs");
  CAFFE_ENFORCE(!num_inputs_outputs_allowed_ || num_inputs_outputs_allowed_(inputs, outputs), type_,
                " does not write ", outputs, " outputs from ", inputs, " inputs");
  CAFFE_ENFORCE(!calculator_ || calculator_(inputs) < 0 || calculator_(inputs) == outputs, type_,
                " writes ", calculator_(inputs), " outputs from ", inputs, " inputs, but has ",
                outputs);
  for (int in = 0; in < inputs; ++in) {
    for (int out = 0; out < outputs; ++out) {
      const bool same = def.input(in) == def.output(out);
      CAFFE_ENFORCE(!same || inplace_allowed_(in, out) || inplace_enforced_(in, out), type_,
                    " cannot write output ", out, " in place of input ", in, ": blob ",
                    def.input(in));
      CAFFE_ENFORCE(same || !inplace_enforced_(in, out), type_, " must write output ", out,
                    " in place of input ", in, ": blobs ", def.output(out), " and ", def.input(in));
    }
  }
  for (const Parameter& arg : args_) {
    CAFFE_ENFORCE(!arg.required || FindArgument(def, arg.name) != nullptr, type_,
                  " needs the argument ", arg.name);
  }
}

namespace {
std::map<std::string, OpSchema>& MutableSchemas() {
  static auto* schemas = new std::map<std::string, OpSchema>;
  return *schemas;
}
}  // namespace

OpSchema& OpSchemaRegistry::NewSchema(const char* type, const char* file, int line) {
  auto [it, inserted] = MutableSchemas().emplace(type, OpSchema(type, file, line));
  CAFFE_ENFORCE(inserted, "schema of ", type, " is defined twice: ", it->second.file(), " and ",
                file);
  return it->second;
}

const OpSchema* OpSchemaRegistry::Schema(const std::string& type) {
  auto it = MutableSchemas().find(type);
  return it == MutableSchemas().end() ? nullptr : &it->second;
}

const std::map<std::string, OpSchema>& OpSchemaRegistry::All() { return MutableSchemas(); }

TensorShape CreateTensorShape(const std::vector<int64_t>& dims, TensorProto::DataType type) {
  TensorShape shape;
  shape.mutable_dims()->Add(dims.begin(), dims.end());
  shape.set_data_type(type);
  return shape;
}

TensorShape UnknownTensorShape() {
  TensorShape shape;
  shape.set_unknown_shape(true);
  return shape;
}

std::vector<TensorShape> InferUnknownShapes(const OperatorDef& def,
                                            const std::vector<TensorShape>& /*inputs*/) {
  return std::vector<TensorShape>(def.output_size(), UnknownTensorShape());
}

std::vector<int64_t> GetDimsVector(const TensorShape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

int64_t NumelOf(const TensorShape& shape) {
  return shape.unknown_shape() ? 0 : CheckedNumel(GetDimsVector(shape));
}

uint64_t NbytesOf(const TensorShape& shape) {
  if (shape.data_type() == TensorProto::UNDEFINED) return 0;
  return static_cast<uint64_t>(NumelOf(shape)) * DataTypeToTypeMeta(shape.data_type()).itemsize();
}

}  // namespace caffe2
