// Every operator that a model may use, with few or many outputs and any arguments, on small
// tensors.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "caffe2/core/operator.h"
#include "caffe2/core/operator_schema.h"
#include "caffe2/core/workspace.h"
#include "tests/fuzz/fuzz_target.h"
#include "train/restrict_model.h"

namespace caffe2::testing {
namespace {

constexpr int kMaxOperands = 8;

// Choices that the bytes make; zeros follow the last byte.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  size_t Below(size_t n) {
    const uint8_t byte = bytes_.empty() ? 0 : static_cast<uint8_t>(bytes_.front());
    if (!bytes_.empty()) bytes_.remove_prefix(1);
    return byte % n;
  }
  template <typename T, size_t n>
  T Of(const T (&values)[n]) {
    return values[Below(n)];
  }
  // No large ones: an operator may make as many elements.
  int64_t Int() {
    static constexpr int64_t kInts[] = {1,
                                        2,
                                        0,
                                        1,
                                        2,
                                        3,
                                        4,
                                        5,
                                        7,
                                        -1,
                                        -2,
                                        -5,
                                        16,
                                        33,
                                        std::numeric_limits<int32_t>::min(),
                                        std::numeric_limits<int64_t>::min()};
    return Of(kInts);
  }
  float Float() {
    static constexpr float kFloats[] = {
        0, 1, 0.5f, 2, -1, -3, 0.1f, 7, 1e30f, std::numeric_limits<float>::infinity()};
    return Of(kFloats);
  }
  std::string Text() {
    static const char* const kTexts[] = {"", "a", "NCHW", "NHWC", "max", "-1", "0,1"};
    return Of(kTexts);
  }

 private:
  std::string_view bytes_;
};

// The types of operators that a model may use.
const std::vector<std::string>& Types() {
  static const std::vector<std::string> types = [] {
    std::vector<std::string> found;
    for (const std::string& key : DeviceOperatorRegistry(CPU)->Keys()) {
      const std::string type = key.substr(0, key.find("_ENGINE_"));
      if (IsModelOperator(type) && OpSchemaRegistry::Schema(type) != nullptr) found.push_back(type);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }();
  return types;
}

template <typename T, typename Value>
void Fill(Tensor* tensor, const Value& value) {
  T* data = tensor->mutable_data<T>();
  for (int64_t i = 0; i < tensor->numel(); ++i) data[i] = static_cast<T>(value());
}

// What the inputs of an operator have in common, so that many operators accept them.
struct Common {
  std::vector<int64_t> shape;
  size_t index_type = 0;  // of indices, lengths and labels
};

Common MakeCommon(Choices* choices) {
  Common common;
  common.shape.resize(choices->Below(4) + 1);
  for (int64_t& dim : common.shape) dim = choices->Of<int64_t>({1, 2, 3, 4, 2, 3, 1, 0});
  common.index_type = choices->Below(2);
  return common;
}

std::vector<int64_t> MakeShape(const Common& common, Choices* choices) {
  const size_t kind = choices->Below(8);
  if (kind < 4) return common.shape;
  if (kind == 4) return {common.shape[0]};
  if (kind == 5) return {1};
  std::vector<int64_t> shape(choices->Below(5));
  for (int64_t& dim : shape) dim = static_cast<int64_t>(choices->Below(5));
  return shape;
}

// True if the schema's name of the input sounds like integers.
bool HoldsIndices(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static const char* const kWords[] = {"ind",  "ids", "len",   "label",
                                       "iter", "key", "range", "shape"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* word) { return name.find(word) != std::string::npos; });
}

void MakeTensor(const Common& common, bool indices, Choices* choices, Blob* blob) {
  const size_t odd = choices->Below(8);
  size_t type = indices ? common.index_type : 5;
  if (odd == 7) type = choices->Below(6);
  Tensor* tensor = BlobGetMutableTensor(blob, Device{});
  tensor->Resize(MakeShape(common, choices));
  const auto integer = [&] { return static_cast<int64_t>(choices->Below(6)) - (odd == 6 ? 1 : 0); };
  if (type == 0) Fill<int32_t>(tensor, integer);
  if (type == 1) Fill<int64_t>(tensor, integer);
  if (type == 2) Fill<uint8_t>(tensor, [&] { return choices->Below(256); });
  if (type == 3) Fill<bool>(tensor, [&] { return choices->Below(2) == 1; });
  if (type == 4) Fill<std::string>(tensor, [&] { return choices->Text(); });
  if (type == 5) Fill<float>(tensor, [&] { return choices->Float(); });
}

Argument ArgumentOf(const OpSchema::Parameter& parameter, Choices* choices) {
  Argument argument;
  argument.set_name(parameter.name);
  const size_t count = choices->Below(5);
  switch (parameter.type) {
    case ArgumentType::kFloat:
      argument.set_f(choices->Float());
      break;
    case ArgumentType::kString:
      argument.set_s(parameter.choices.empty()
                         ? choices->Text()
                         : parameter.choices[choices->Below(parameter.choices.size())]);
      break;
    case ArgumentType::kDataType:
      argument.set_i(static_cast<int64_t>(choices->Below(16)));
      break;
    case ArgumentType::kInts:
      for (size_t i = 0; i < count; ++i) argument.add_ints(choices->Int());
      break;
    case ArgumentType::kFloats:
      for (size_t i = 0; i < count; ++i) argument.add_floats(choices->Float());
      break;
    case ArgumentType::kStrings:
      for (size_t i = 0; i < count; ++i) argument.add_strings(choices->Text());
      break;
    default:
      argument.set_i(choices->Int());
  }
  return argument;
}

// A number of operands from the fewest to the most; the ends are more likely.
int Number(int fewest, int most, Choices* choices) {
  most = std::max(fewest, std::min(most, kMaxOperands));
  const size_t choice = choices->Below(4);
  if (choice < 2) return fewest;
  return choice == 2 ? most : fewest + static_cast<int>(choices->Below(most - fewest + 1));
}

OperatorDef MakeOperator(const std::string& type, Choices* choices) {
  const OpSchema& schema = *OpSchemaRegistry::Schema(type);
  OperatorDef op;
  op.set_type(type);
  const int inputs = Number(schema.min_input(), schema.max_input(), choices);
  int outputs = schema.CalculateOutput(inputs);
  if (outputs < 0) outputs = Number(schema.min_output(), schema.max_output(), choices);
  for (int i = 0; i < inputs; ++i) op.add_input(MakeString("in", i));
  const bool in_place = choices->Below(4) == 3;
  for (int o = 0; o < outputs; ++o) {
    std::string name = MakeString("out", o);
    for (int i = 0; i < inputs; ++i) {
      const bool may = in_place && schema.inplace_allowed(i, o);
      if (may || schema.inplace_enforced(i, o)) name = op.input(i);
    }
    op.add_output(name);
  }
  for (const OpSchema::Parameter& parameter : schema.args()) {
    if (parameter.type == ArgumentType::kNet) continue;
    if (parameter.required || choices->Below(3) != 0)
      *op.add_arg() = ArgumentOf(parameter, choices);
  }
  return op;
}

// It runs twice, the second time on other inputs.
void RunOperator(const std::string& type, Choices choices) {
  const OpSchema& schema = *OpSchemaRegistry::Schema(type);
  const OperatorDef op = MakeOperator(type, &choices);
  NetDef net;
  net.set_name("fuzz");
  *net.add_op() = op;
  ModelLimits limits;
  limits.max_bytes = 16 << 20;
  RestrictModel("fuzz", limits, &net);
  Workspace ws;
  NetBase* made = nullptr;
  const auto& described = schema.input_desc();
  for (int run = 0; run < 2; ++run) {
    const Common common = MakeCommon(&choices);
    for (int i = 0; i < op.input_size(); ++i) {
      Blob* blob = ws.CreateBlob(op.input(i));
      const auto n = static_cast<size_t>(i);
      const bool indices = n < described.size() && HoldsIndices(described[n].name);
      if (schema.is_tensor_input(i)) MakeTensor(common, indices, &choices, blob);
    }
    if (made == nullptr) made = ws.CreateNet(net);
    made->Run();
  }
}

}  // namespace

// Every operator gets the same choices.
FUZZ_TARGET(Operator, "operator", 50) {
  for (const std::string& type : Types()) {
    try {
      RunOperator(type, Choices(bytes));
    } catch (const Error&) {  // the answer to bad input
    } catch (const std::exception& error) {
      throw std::runtime_error(type + ": " + error.what());
    }
  }
}

}  // namespace caffe2::testing
