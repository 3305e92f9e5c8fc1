// The CPU and the CUDA version of an operator take the same element types. Files say these types in
// several ways (TensorTypes, data<T>(), a choice by hand), so the test asks the operators: it runs
// both with the same inputs of every type, and both must take or refuse them. It tries five simple
// shapes of inputs; operators that take none of them have an example in device_type_cases.cc.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/operator_gradient.h"
#include "tests/operators/op_test.h"
#include "tests/operators/scenarios/device_type_cases.h"
#include "tests/operators/scenarios/device_type_differences.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

using FeedFunction = void (*)(Workspace*, const std::string&, const CaseInput&);

// A tensor of the values of the input, or else of small numbers that are also valid indices of two
// rows.
template <typename T>
void FeedSmall(Workspace* ws, const std::string& name, const CaseInput& input) {
  std::vector<T> values;
  for (int64_t i = 0; i < CheckedNumel(input.dims); ++i) {
    const int value = input.values.empty() ? (i + 1) % 2 : input.values.at(i);
    if constexpr (std::is_same_v<T, float16>) {
      values.push_back(ToFloat16(static_cast<float>(value)));
    } else if constexpr (std::is_same_v<T, bfloat16>) {
      values.push_back(ToBFloat16(static_cast<float>(value)));
    } else {
      values.push_back(static_cast<T>(value));
    }
  }
  Feed(ws, name, input.dims, values);
}

const std::map<std::string, FeedFunction>& ElementTypes() {
  static const std::map<std::string, FeedFunction> types = {
      {"float", FeedSmall<float>},     {"double", FeedSmall<double>},
      {"float16", FeedSmall<float16>}, {"bfloat16", FeedSmall<bfloat16>},
      {"int32", FeedSmall<int32_t>},   {"int64", FeedSmall<int64_t>},
      {"uint8", FeedSmall<uint8_t>},   {"bool", FeedSmall<bool>},
  };
  return types;
}

// Which inputs have the type that varies.
enum class Vary { kAll, kFirst, kAllButFirst, kAllButLast };

bool Varies(Vary vary, int i, int count) {
  return vary == Vary::kAll || (vary == Vary::kFirst && i == 0) ||
         (vary == Vary::kAllButFirst && i > 0) || (vary == Vary::kAllButLast && i + 1 < count);
}

// The inputs of an operator, of simple shapes, in the alternatives of which one is tried: the first
// that the CPU version takes.
using Alternatives = std::vector<std::vector<CaseInput>>;

std::vector<Alternatives> SimpleInputs(int count) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{4, 3}, {4, 3}}, {{4, 3}, {3}}, {{4, 3}, {4}}, {{4}, {4}}, {{2, 4, 3, 3}, {4}}};
  std::vector<Alternatives> all;
  const auto add = [&](Vary vary, const std::string& other_type) {
    all.emplace_back();
    for (const auto& [first, others] : shapes) {
      all.back().emplace_back();
      for (int i = 0; i < count; ++i) {
        all.back().back().push_back(
            {i == 0 ? first : others, Varies(vary, i, count) ? "" : other_type});
      }
    }
  };
  add(Vary::kAll, "float");
  if (count == 1) return all;
  for (const Vary vary : {Vary::kFirst, Vary::kAllButFirst, Vary::kAllButLast}) {
    for (const char* type : {"float", "int32", "int64", "bool"}) add(vary, type);
  }
  return all;
}

// Arguments without which an operator refuses everything.
std::vector<Argument> ArgumentsOf(const std::string& type) {
  static const std::map<std::string, std::vector<Argument>> arguments = {
      {"ClipTensorByNorm", {MakeArgument("threshold", 1.f)}},
      {"ClipTensorByScaling", {MakeArgument("threshold", 1.f)}},
      {"ConstantFill", {MakeArgument("value", 1.f)}},
      {"Expand", {MakeArgument("shape", std::vector<int64_t>{4, 3})}},
      {"ExpandDims", {MakeArgument("dims", std::vector<int>{0})}},
      {"Mod", {MakeArgument("divisor", 3)}},
      {"Pow", {MakeArgument("exponent", 2.f)}},
      {"Reshape", {MakeArgument("shape", std::vector<int64_t>{-1})}},
      {"Slice",
       {MakeArgument("starts", std::vector<int>{0}), MakeArgument("ends", std::vector<int>{1})}},
      {"Squeeze", {MakeArgument("dims", std::vector<int>{0})}},
      {"Tile", {MakeArgument("tiles", 2), MakeArgument("axis", 0)}},
      {"TopK", {MakeArgument("k", 1)}},
  };
  const auto found = arguments.find(type);
  return found == arguments.end() ? std::vector<Argument>() : found->second;
}

OperatorDef MakeDef(const std::string& type, int inputs, int outputs,
                    const std::vector<Argument>& arguments) {
  const OpSchema& schema = *OpSchemaRegistry::Schema(type);
  Strings from, to;
  for (int i = 0; i < inputs; ++i) from.push_back("X" + std::to_string(i));
  for (int k = 0; k < outputs; ++k) {
    to.push_back("Y" + std::to_string(k));
    for (int i = 0; i < inputs; ++i) {
      if (schema.inplace_enforced(i, k)) to.back() = from[i];
    }
  }
  return Op(type, from, to, arguments);
}

// How the versions of operators for one device answered to inputs of one type: by operator type,
// "" or the error.
using Answers = std::map<std::string, std::string>;

// Runs the operator on the device, and returns true if it does not throw.
bool Run(Workspace* ws, OperatorDef op, Device device, Answers* answers) {
  *op.mutable_device_option() = ToDeviceOption(device);
  std::string& answer = (*answers)[op.type()];
  try {
    if (ws->RunOperatorOnce(op)) return true;
    answer = "returned false";
  } catch (const std::exception& error) {
    answer = error.what();
  }
  return false;
}

// Runs the gradient operators of `op`, up to the first that throws. The gradients of the outputs
// that `gradients` names have their types and shapes.
void RunGradient(Workspace* ws, const OperatorDef& op, const std::vector<int>& gradients,
                 Device device, Answers* answers) {
  std::vector<GradientWrapper> g_output(op.output_size());
  for (const int k : gradients) {
    g_output[k].dense = op.output(k) + "_grad";
    BlobGetMutableTensor(ws->CreateBlob(g_output[k].dense), device)
        ->CopyFrom(ws->GetBlob(op.output(k))->Get<Tensor>());
  }
  for (const OperatorDef& gradient : GetGradientForOp(op, g_output).ops) {
    if (!Run(ws, gradient, device, answers)) return;
  }
}

// Runs the operator, then its gradient operators if some outputs have a gradient.
Answers Ask(const OperatorDef& op, const std::vector<CaseInput>& inputs,
            const std::vector<int>& gradients, const std::string& type, Device device) {
  Workspace fed, ws;
  for (int i = 0; i < op.input_size(); ++i) {
    ElementTypes().at(inputs[i].type.empty() ? type : inputs[i].type)(&fed, op.input(i), inputs[i]);
    BlobGetMutableTensor(ws.CreateBlob(op.input(i)), device)
        ->CopyFrom(fed.GetBlob(op.input(i))->Get<Tensor>());
  }
  Answers answers;
  if (Run(&ws, op, device, &answers) && !gradients.empty()) {
    RunGradient(&ws, op, gradients, device, &answers);
  }
  return answers;
}

// What the versions of operators take beyond each other, by operator type. An entry without
// differences says that the versions were compared.
using Differences = std::map<std::string, TypeDifference>;

// Asks both versions, for each type. Returns false, and asks the CUDA version nothing, if the CPU
// version takes no type: `refusal` then gets what it says to float. The gradient operators must
// take some type.
bool Compare(const OperatorDef& op, const std::vector<CaseInput>& inputs,
             const std::vector<int>& gradients, Differences* differences, std::string* refusal) {
  std::map<std::string, Answers> cpu;
  std::set<std::string> taken;  // operators that take some type
  for (const auto& [type, feed] : ElementTypes()) {
    cpu[type] = Ask(op, inputs, gradients, type, Device{});
    for (const auto& [name, answer] : cpu[type]) {
      if (answer.empty()) taken.insert(name);
    }
  }
  *refusal = cpu["float"][op.type()];
  if (!taken.count(op.type())) return false;
  for (const auto& [type, feed] : ElementTypes()) {
    const Answers cuda = Ask(op, inputs, gradients, type, Device{CUDA, 0});
    for (const auto& [name, answer] : cpu[type]) {
      EXPECT_TRUE(taken.count(name)) << name << " takes no type: " << answer;
      if (!cuda.count(name)) continue;
      TypeDifference& difference = (*differences)[name];
      if (answer.empty() == cuda.at(name).empty()) continue;
      (answer.empty() ? difference.only_cpu : difference.only_cuda).insert(type);
      difference.why += "\n  " + type + ": " + (answer + cuda.at(name)).substr(0, 200);
    }
  }
  return true;
}

void CompareSimple(const std::string& type, Differences* differences) {
  const OpSchema& schema = *OpSchemaRegistry::Schema(type);
  const int inputs = schema.min_input();
  int outputs = schema.CalculateOutput(inputs);
  if (outputs < 0) outputs = std::max(schema.min_output(), 1);
  const OperatorDef op = MakeDef(type, inputs, outputs, ArgumentsOf(type));
  for (const Alternatives& alternatives : SimpleInputs(inputs)) {
    for (const std::vector<CaseInput>& alternative : alternatives) {
      std::string refusal;
      if (Compare(op, alternative, {}, differences, &refusal)) break;
    }
  }
}

void CompareCase(const TypeCase& test, Differences* differences) {
  SCOPED_TRACE(test.type);
  const OperatorDef op =
      MakeDef(test.type, static_cast<int>(test.inputs.size()), test.outputs, test.arguments);
  std::string refusal;
  EXPECT_TRUE(Compare(op, test.inputs, test.gradients, differences, &refusal))
      << "the case takes no type: " << refusal;
}

std::string Listed(const std::set<std::string>& types) {
  std::string text;
  for (const std::string& type : types) text += " " + type;
  return text.empty() ? " none" : text;
}

// The operator types with versions for both devices, except those whose type an argument chooses.
Strings TypesOnBoth() {
  Strings types;
  for (const std::string& type : DeviceOperatorRegistry(CUDA)->Keys()) {
    const OpSchema* schema = OpSchemaRegistry::Schema(type);
    if (schema == nullptr || schema->min_input() == 0) continue;
    if (!DeviceOperatorRegistry(CPU)->Has(type)) continue;
    if (std::string(schema->file()).find("operators/") != std::string::npos) types.push_back(type);
  }
  return types;
}

TEST(DeviceTypesTest, AreTheSameOnTheCpuAndOnCudaDevices) {
  NEED_CUDA();
  const Strings types = TypesOnBoth();
  Differences differences;
  for (const std::string& type : types) CompareSimple(type, &differences);
  for (const TypeCase& test : TypeCases()) CompareCase(test, &differences);
  for (const auto& [type, found] : differences) {
    const auto listed = DeviceTypeDifferences().find(type);
    const TypeDifference expected =
        listed == DeviceTypeDifferences().end() ? TypeDifference() : listed->second;
    EXPECT_TRUE(found.only_cuda == expected.only_cuda && found.only_cpu == expected.only_cpu)
        << type << ": only the CUDA version takes" << Listed(found.only_cuda)
        << ", only the CPU version" << Listed(found.only_cpu) << found.why;
  }
  for (const std::string& type : types) {
    EXPECT_NE(differences.count(type), TypesNotCompared().count(type))
        << type
        << (differences.count(type) ? " is compared, and in TypesNotCompared()"
                                    : " is not compared: it needs a case");
  }
}

}  // namespace
}  // namespace caffe2::testing
