// The CPU and the CUDA version of an operator take the same element types. Files say these types in
// several ways (TensorTypes, data<T>(), a choice by hand), so the test asks the operators: it runs
// both with the same inputs of every type, and both must take or refuse them.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "tests/operators/op_test.h"
#include "tests/operators/scenarios/device_type_differences.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

using FeedFunction = void (*)(Workspace*, const std::string&, const Shape&);

// A tensor of small numbers that are also valid indices of two rows.
template <typename T>
void FeedSmall(Workspace* ws, const std::string& name, const Shape& dims) {
  std::vector<T> values;
  for (int64_t i = 0; i < CheckedNumel(dims); ++i) {
    const int value = i % 2 == 0 ? 1 : 0;
    if constexpr (std::is_same_v<T, float16>) {
      values.push_back(ToFloat16(static_cast<float>(value)));
    } else if constexpr (std::is_same_v<T, bfloat16>) {
      values.push_back(ToBFloat16(static_cast<float>(value)));
    } else {
      values.push_back(static_cast<T>(value));
    }
  }
  Feed(ws, name, dims, values);
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

// The inputs of an operator: shapes, and the type of those that do not vary.
struct Setting {
  Vary vary;
  std::string other_type;
  Shape first, others;
};

std::vector<std::vector<Setting>> Settings(int inputs) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{4, 3}, {4, 3}}, {{4, 3}, {3}}, {{4, 3}, {4}}, {{4}, {4}}, {{2, 4, 3, 3}, {4}}};
  std::vector<std::vector<Setting>> all;
  const auto add = [&](Vary vary, const std::string& other_type) {
    all.emplace_back();
    for (const auto& [first, others] : shapes) {
      all.back().push_back({vary, other_type, first, others});
    }
  };
  add(Vary::kAll, "float");
  if (inputs == 1) return all;
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

OperatorDef MakeDef(const std::string& type, const OpSchema& schema) {
  const int count = schema.min_input();
  int output_count = schema.CalculateOutput(count);
  if (output_count < 0) output_count = std::max(schema.min_output(), 1);
  std::vector<std::string> inputs, outputs;
  for (int i = 0; i < count; ++i) inputs.push_back("X" + std::to_string(i));
  for (int k = 0; k < output_count; ++k) {
    outputs.push_back("Y" + std::to_string(k));
    for (int i = 0; i < count; ++i) {
      if (schema.inplace_enforced(i, k)) outputs.back() = inputs[i];
    }
  }
  return Op(type, inputs, outputs, ArgumentsOf(type));
}

// True if the operator runs on `device` with the varying inputs of `type`; otherwise `refusal` gets
// the message.
bool Takes(const OperatorDef& op, const Setting& setting, const std::string& type, Device device,
           std::string* refusal) {
  Workspace fed, ws;
  for (int i = 0; i < op.input_size(); ++i) {
    const bool varies = Varies(setting.vary, i, op.input_size());
    const Shape& dims = i == 0 ? setting.first : setting.others;
    ElementTypes().at(varies ? type : setting.other_type)(&fed, op.input(i), dims);
    BlobGetMutableTensor(ws.CreateBlob(op.input(i)), device)
        ->CopyFrom(fed.GetBlob(op.input(i))->Get<Tensor>());
  }
  try {
    OperatorDef placed = op;
    *placed.mutable_device_option() = ToDeviceOption(device);
    return ws.RunOperatorOnce(placed);
  } catch (const std::exception& error) {
    *refusal = error.what();
    return false;
  }
}

// The types that an operator takes, of all types of a setting.
std::set<std::string> TypesTaken(const OperatorDef& op, const Setting& setting, Device device,
                                 std::map<std::string, std::string>* refusals) {
  std::set<std::string> taken;
  for (const auto& [type, feed] : ElementTypes()) {
    if (Takes(op, setting, type, device, &(*refusals)[type])) taken.insert(type);
  }
  return taken;
}

std::set<std::string> Without(const std::set<std::string>& types,
                              const std::set<std::string>& others) {
  std::set<std::string> rest;
  for (const std::string& type : types) {
    if (!others.count(type)) rest.insert(type);
  }
  return rest;
}

std::string Listed(const std::set<std::string>& types) {
  std::string text;
  for (const std::string& type : types) text += " " + type;
  return text.empty() ? " none" : text;
}

// What the versions of an operator take beyond each other, in all settings of which the CPU version
// takes some type. `settings` counts these.
TypeDifference FindDifference(const std::string& type, const OpSchema& schema, int* settings) {
  const OperatorDef op = MakeDef(type, schema);
  TypeDifference difference;
  for (const std::vector<Setting>& alike : Settings(op.input_size())) {
    for (const Setting& setting : alike) {
      std::map<std::string, std::string> refusals, cuda_refusals;
      const std::set<std::string> cpu = TypesTaken(op, setting, Device{}, &refusals);
      if (cpu.empty()) continue;
      ++*settings;
      const std::set<std::string> cuda = TypesTaken(op, setting, Device{CUDA, 0}, &cuda_refusals);
      for (const std::string& name : Without(cuda, cpu)) {
        difference.only_cuda.insert(name);
        difference.why += "\n  CPU: " + refusals[name].substr(0, 200);
      }
      for (const std::string& name : Without(cpu, cuda)) {
        difference.only_cpu.insert(name);
        difference.why += "\n  CUDA: " + cuda_refusals[name].substr(0, 200);
      }
      break;  // other shapes would say the same
    }
  }
  return difference;
}

TEST(DeviceTypesTest, AreTheSameOnTheCpuAndOnCudaDevices) {
  NEED_CUDA();
  int operators = 0;
  for (const std::string& type : DeviceOperatorRegistry(CUDA)->Keys()) {
    const OpSchema* schema = OpSchemaRegistry::Schema(type);
    if (schema == nullptr || !DeviceOperatorRegistry(CPU)->Has(type)) continue;
    if (std::string(schema->file()).find("operators/") == std::string::npos) continue;
    if (schema->min_input() == 0) continue;  // an argument chooses the type
    int settings = 0;
    const TypeDifference found = FindDifference(type, *schema, &settings);
    if (settings == 0) continue;
    ++operators;
    const auto listed = DeviceTypeDifferences().find(type);
    const TypeDifference expected =
        listed == DeviceTypeDifferences().end() ? TypeDifference() : listed->second;
    EXPECT_TRUE(found.only_cuda == expected.only_cuda && found.only_cpu == expected.only_cpu)
        << type << ": only the CUDA version takes" << Listed(found.only_cuda)
        << ", only the CPU version" << Listed(found.only_cpu) << found.why;
  }
  EXPECT_GT(operators, 200) << "too few operators took one of the settings";
}

}  // namespace
}  // namespace caffe2::testing
