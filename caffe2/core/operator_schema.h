// The schema of an operator type: what it accepts and produces. CreateOperator checks it, the
// documentation shows it, and passes use it to infer shapes and costs without running the operator.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/registry.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// What the argument of an operator may be. An integer also counts as a bool and as a float, a
// single value as a list of one, and an argument without a value as an empty list.
enum class ArgumentType {
  kAny,  // not known, or several types
  kInt,
  kBool,
  kFloat,
  kString,
  kNet,
  kDataType,  // of TensorProto, as number or name
  kInts,
  kFloats,
  kStrings,
};
// "int", "list of int", "data type"; "any" for kAny.
const char* ArgumentTypeName(ArgumentType type);

// The schema of one operator type, filled by chained calls under OPERATOR_SCHEMA. Methods carry
// Caffe2's names.
class OpSchema {
 public:
  // As a maximum of NumInputs or NumOutputs: any number.
  static constexpr int kUnlimited = 1 << 30;

  OpSchema() = default;
  OpSchema(std::string type, std::string file, int line)
      : type_(std::move(type)), file_(std::move(file)), line_(line) {}

  // Throws EnforceNotMet, naming the operator type and the violated rule.
  void Verify(const OperatorDef& def) const;

  OpSchema& NumInputs(int n) { return NumInputs(n, n); }
  OpSchema& NumInputs(int min, int max);
  OpSchema& NumInputs(std::set<int> allowed);
  OpSchema& NumInputs(std::function<bool(int)> allowed);
  OpSchema& NumOutputs(int n) { return NumOutputs(n, n); }
  OpSchema& NumOutputs(int min, int max);
  OpSchema& NumOutputs(std::set<int> allowed);
  OpSchema& NumOutputs(std::function<bool(int)> allowed);
  OpSchema& NumInputsOutputs(std::function<bool(int inputs, int outputs)> allowed);
  // Number of outputs as a function of the number of inputs.
  OpSchema& OutputCalculator(std::function<int(int)> calculator);

  // Pairs (input, output) that may be the same blob; none by default.
  OpSchema& AllowInplace(std::initializer_list<std::pair<int, int>> pairs);
  OpSchema& AllowInplace(std::function<bool(int input, int output)> allowed);
  OpSchema& AllowOneToOneInplace();
  // Pairs that must be the same blob.
  OpSchema& EnforceInplace(std::initializer_list<std::pair<int, int>> pairs);
  OpSchema& EnforceInplace(std::function<bool(int input, int output)> enforced);
  OpSchema& EnforceOneToOneInplace();

  // Output i has the type and shape of input i.
  OpSchema& IdenticalTypeAndShape();
  // All outputs have the type and shape of this input.
  OpSchema& IdenticalTypeAndShapeOfInput(int index);
  // Outputs are one-dimensional. They have the type of input `index`, and as many elements as its
  // axis `dim`.
  OpSchema& IdenticalTypeAndShapeOfInputDim(int index, int dim);
  // All outputs are scalars of this type.
  OpSchema& ScalarType(TensorProto::DataType type);

  // Inputs and outputs that are not tensors (a reader, a counter, a scope). They have no shape, and
  // inference does not need one.
  OpSchema& NonTensorInputs(std::initializer_list<int> indices);
  OpSchema& NonTensorOutputs(std::initializer_list<int> indices);
  bool is_tensor_input(int index) const { return non_tensor_inputs_.count(index) == 0; }
  bool is_tensor_output(int index) const { return non_tensor_outputs_.count(index) == 0; }

  using TensorInference =
      std::function<std::vector<TensorShape>(const OperatorDef&, const std::vector<TensorShape>&)>;
  OpSchema& TensorInferenceFunction(TensorInference function);
  // Shapes of all outputs. A shape that cannot be inferred has unknown_shape set; a type that
  // cannot be inferred is UNDEFINED. Nothing can be inferred if the shape of an input tensor is
  // unknown. Throws EnforceNotMet, naming the operator, if it does not accept such inputs.
  std::vector<TensorShape> InferTensor(const OperatorDef& def,
                                       const std::vector<TensorShape>& inputs) const;

  // Work and traffic of one run.
  struct Cost {
    uint64_t flops = 0;          // a multiply-add counts 2
    uint64_t bytes_read = 0;     // of inputs, including parameters
    uint64_t bytes_written = 0;  // of outputs
    uint64_t params_bytes = 0;   // of parameters; part of bytes_read
  };
  using CostInference = std::function<Cost(const OperatorDef&, const std::vector<TensorShape>&)>;
  OpSchema& CostInferenceFunction(CostInference function);
  bool HasCostInference() const { return static_cast<bool>(cost_inference_); }
  // Without a cost inference function, bytes come from the inferred shapes, and each element of the
  // outputs counts one operation.
  Cost InferCost(const OperatorDef& def, const std::vector<TensorShape>& inputs) const;

  OpSchema& SetDoc(std::string_view doc);
  // Describes an argument, whose type T is int (also for int64_t), bool, float (also for double),
  // std::string, NetDef or TensorProto::DataType. A description may begin with limits and the
  // default in parentheses, "(> 0, default 1) The ...": documentation puts the type before them.
  template <typename T>
  OpSchema& Arg(const char* name, const char* description, bool required = false) {
    return AddArgument(name, TypeOf(static_cast<T*>(nullptr)), description, required);
  }
  // An argument of unknown or several types.
  OpSchema& Arg(const char* name, const char* description, bool required = false) {
    return AddArgument(name, ArgumentType::kAny, description, required);
  }
  // A list; T is int, float or std::string.
  template <typename T>
  OpSchema& ArgList(const char* name, const char* description, bool required = false) {
    return AddArgument(name, ListTypeOf(static_cast<T*>(nullptr)), description, required);
  }
  // A string that is one of `choices`.
  OpSchema& ArgOneOf(const char* name, std::vector<std::string> choices, const char* description,
                     bool required = false);
  OpSchema& ArgOrder(const char* description = "(default NCHW) The storage order.") {
    return ArgOneOf("order", {"NCHW", "NHWC"}, description);
  }
  OpSchema& ArgIsTest(const char* description) { return Arg<int>("is_test", description); }
  OpSchema& Input(int index, const char* name, const char* description);
  OpSchema& Output(int index, const char* name, const char* description);
  // Calls populator(*this), to share parts between schemas.
  template <typename Populator>
  OpSchema& FillUsing(const Populator& populator) {
    populator(*this);
    return *this;
  }
  // Used by other operators only; not listed in the documentation.
  OpSchema& Private();
  // Inputs may lie on a device other than the operator's.
  OpSchema& InputsCanCrossDevices();
  // The operator has no GPU version. `reason` is a clause such as "it reads or writes files".
  OpSchema& CpuOnly(std::string_view reason);

  struct Parameter {
    std::string name;
    std::string description;
    // Of arguments only:
    bool required = false;
    ArgumentType type = ArgumentType::kAny;
    std::vector<std::string> choices;  // the values that a string may have; empty: all
  };
  const std::string& type() const { return type_; }
  const std::string& doc() const { return doc_; }
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::vector<Parameter>& args() const { return args_; }
  const std::vector<Parameter>& input_desc() const { return inputs_; }
  const std::vector<Parameter>& output_desc() const { return outputs_; }
  int min_input() const { return min_input_; }
  int max_input() const { return max_input_; }
  int min_output() const { return min_output_; }
  int max_output() const { return max_output_; }
  bool private_op() const { return private_; }
  bool inputs_can_cross_devices() const { return inputs_can_cross_devices_; }
  const std::string& cpu_only() const { return cpu_only_; }  // the reason, or ""
  bool inplace_allowed(int input, int output) const { return inplace_allowed_(input, output); }
  bool inplace_enforced(int input, int output) const { return inplace_enforced_(input, output); }
  // -1 if there is no calculator.
  int CalculateOutput(int num_inputs) const { return calculator_ ? calculator_(num_inputs) : -1; }

 private:
  // Of a null pointer to T. There is none for other types.
  static ArgumentType TypeOf(int*) { return ArgumentType::kInt; }
  static ArgumentType TypeOf(bool*) { return ArgumentType::kBool; }
  static ArgumentType TypeOf(float*) { return ArgumentType::kFloat; }
  static ArgumentType TypeOf(std::string*) { return ArgumentType::kString; }
  static ArgumentType TypeOf(NetDef*) { return ArgumentType::kNet; }
  static ArgumentType TypeOf(TensorProto::DataType*) { return ArgumentType::kDataType; }
  static ArgumentType ListTypeOf(int*) { return ArgumentType::kInts; }
  static ArgumentType ListTypeOf(float*) { return ArgumentType::kFloats; }
  static ArgumentType ListTypeOf(std::string*) { return ArgumentType::kStrings; }
  OpSchema& AddArgument(const char* name, ArgumentType type, const char* description,
                        bool required);

  std::string type_, file_, doc_, cpu_only_;
  int line_ = 0;
  std::vector<Parameter> args_, inputs_, outputs_;
  int min_input_ = 0, max_input_ = kUnlimited, min_output_ = 0, max_output_ = kUnlimited;
  bool private_ = false;
  bool inputs_can_cross_devices_ = false;
  std::function<bool(int)> num_inputs_allowed_, num_outputs_allowed_;
  std::function<bool(int, int)> num_inputs_outputs_allowed_;
  std::function<int(int)> calculator_;
  std::function<bool(int, int)> inplace_allowed_ = [](int, int) { return false; };
  std::function<bool(int, int)> inplace_enforced_ = [](int, int) { return false; };
  std::set<int> non_tensor_inputs_, non_tensor_outputs_;
  TensorInference tensor_inference_;
  CostInference cost_inference_;
};

// All schemas by operator type.
class OpSchemaRegistry {
 public:
  static OpSchema& NewSchema(const char* type, const char* file, int line);
  static const OpSchema* Schema(const std::string& type);  // null if there is none
  static const std::map<std::string, OpSchema>& All();
};

#define OPERATOR_SCHEMA(name)                                                      \
  static ::caffe2::OpSchema& CAFFE2_ANONYMOUS(operator_schema_) [[maybe_unused]] = \
      ::caffe2::OpSchemaRegistry::NewSchema(#name, __FILE__, __LINE__)

// Helpers for inference functions.
TensorShape CreateTensorShape(const std::vector<int64_t>& dims, TensorProto::DataType type);
TensorShape UnknownTensorShape();
// A TensorInference for outputs whose shapes are not known before a run.
std::vector<TensorShape> InferUnknownShapes(const OperatorDef& def,
                                            const std::vector<TensorShape>&);
std::vector<int64_t> GetDimsVector(const TensorShape& shape);
// 0 for an unknown shape.
int64_t NumelOf(const TensorShape& shape);
// 0 for an unknown shape or type.
uint64_t NbytesOf(const TensorShape& shape);

}  // namespace caffe2
