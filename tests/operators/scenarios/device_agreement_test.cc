// The CPU and the CUDA version of an elementwise operator or an update rule are compiled from one
// functor, so they agree to the last bits that the type allows. device_agreement_rows.cc says for
// each operator how many units in the last place (ulps) they may differ, and why, where they may.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/random.h"
#include "tests/operators/op_test.h"
#include "tests/operators/scenarios/device_agreement_rows.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

// Converts a number to an element type; integers keep to a range that all of them have.
template <typename T>
T To(float value) {
  if constexpr (std::is_same_v<T, float16>) {
    return ToFloat16(value);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return ToBFloat16(value);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::isfinite(value) ? std::fmod(value, 40000.f) : 7);
  } else {
    return value;
  }
}

// n numbers of a kind of the first group.
std::vector<float> Numbers(In kind, int64_t n, uint64_t seed) {
  using Limits = std::numeric_limits<float>;
  std::vector<float> edges = {0, -0.f, 1, -1, 0.5f, 2, 1e-8f, -1e-8f, 65504, 1e-3f};
  if (kind == In::kInside) {
    edges = {0, -0.f, 1, -1};
  } else if (kind == In::kAny) {
    edges.insert(edges.end(),
                 {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::max(),
                  Limits::lowest(), Limits::min(), Limits::denorm_min(), -Limits::denorm_min(), 88,
                  -88, 104, -104, 1e30f, -1e30f, 3e-39f, 6e-8f, -20, 0x1p-14f, 0x1p-15f});
  } else {
    edges.insert(edges.end(), {1e15f, -1e15f, 1e-15f, -1e-15f, Limits::denorm_min()});
  }
  RandomGenerator random(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    const float choice = random.Uniform();
    if (choice < 0.25f) {
      value = edges[static_cast<size_t>(random.Uniform() * edges.size()) % edges.size()];
    } else {
      value = 2 * random.Uniform() - 1;
      if (kind == In::kInside) value *= 0.9f;
      if (choice < 0.5f && kind != In::kInside)
        value = std::ldexp(value, random.Uniform() * 20 - 8);
    }
    if (kind == In::kPositive) value = std::fabs(value);
  }
  return values;
}

// Feeds input `i` of a row; numbers of the first group in the type T.
template <typename T>
void FeedInput(Workspace* ws, const Row& row, int i) {
  const std::string name = "X" + std::to_string(i);
  const In kind = row.inputs[i];
  const auto feed = [&](In values, const Shape& dims) {
    std::vector<T> converted;
    for (const float v : Numbers(values, CheckedNumel(dims), i + 1)) converted.push_back(To<T>(v));
    Feed(ws, name, dims, converted);
  };
  const Shape all{kRowCount, kWidth};
  std::vector<float> numbers;
  switch (kind) {
    case In::kAny:
    case In::kModest:
    case In::kPositive:
    case In::kInside:
      return feed(kind, all);
    case In::kChosen: {
      std::vector<T> chosen = FetchValues<T>(*ws, "X0");
      for (int64_t k = 1; k < kSize; k += 2) chosen[k] = To<T>(1.25f);
      return Feed(ws, name, all, chosen);
    }
    case In::kColumns:
      return feed(In::kInside, {kWidth});
    case In::kPositiveColumns:
      for (int64_t k = 0; k < kWidth; ++k) numbers.push_back(0.25f * static_cast<float>(k));
      return Feed(ws, name, {kWidth}, numbers);
    case In::kRowFactors:
      return feed(In::kModest, {kRowCount});
    case In::kThreeGates:
    case In::kFourGates: {
      const int64_t columns = kWidth * (kind == In::kThreeGates ? 3 : 4);
      std::vector<T> gates;
      for (const float v : Numbers(In::kInside, kRowCount * columns, i + 1)) {
        gates.push_back(To<T>(-std::fabs(v)));
      }
      return Feed(ws, name, {kRowCount, columns}, gates);
    }
    case In::kBool:
    case In::kRowBool: {
      Tensor flags(kind == In::kBool ? all : Shape{kRowCount}, CPU);
      bool* flag = flags.mutable_data<bool>();
      for (int64_t k = 0; k < flags.numel(); ++k) flag[k] = (k / (i + 1)) % 3 == 0;
      BlobGetMutableTensor(ws->CreateBlob(name), Device{})->CopyFrom(flags);
      return;
    }
    case In::kFlag: {
      Tensor flag(Shape{1}, CPU);
      *flag.mutable_data<bool>() = false;
      BlobGetMutableTensor(ws->CreateBlob(name), Device{})->CopyFrom(flag);
      return;
    }
    case In::kRate:
      return Feed<float>(ws, name, {1}, {-0.1f});
    case In::kNorm:
      return Feed<float>(ws, name, {1}, {0.7f});
    case In::kIter:
      return Feed<int64_t>(ws, name, {1}, {8});
    case In::kIndices: {
      Ints rows;
      for (int32_t k = 0; k < kRowCount / 2; ++k) rows.push_back((k * 15) % kRowCount);
      return Feed(ws, name, {kRowCount / 2}, rows);
    }
    case In::kFloats:
      return Feed(ws, name, all, Numbers(In::kModest, kSize, i + 1));
    case In::kPairs: {
      numbers = Numbers(In::kModest, 2 * kSize, i + 1);
      for (int64_t k = 0; k < 2 * kSize; k += 2) numbers[k] = std::fabs(numbers[k]);
      return Feed(ws, name, {kRowCount, kWidth, 2}, numbers);
    }
    case In::kRows:
      return Feed(ws, name, {kRowCount / 2, kWidth},
                  Numbers(In::kModest, kRowCount / 2 * kWidth, i + 1));
    case In::kLastSeen: {
      Longs seen;
      for (int64_t k = 0; k < kRowCount; ++k) seen.push_back(k % 9);
      return Feed(ws, name, {kRowCount}, seen);
    }
    case In::kMaskBits: {
      std::vector<uint8_t> bits;
      for (int64_t k = 0; k < 2 * kRowCount; ++k) bits.push_back(static_cast<uint8_t>(37 * k));
      return Feed(ws, name, {kRowCount, 2}, bits);
    }
    case In::kLengths: {
      Ints lengths;
      for (int32_t k = 0; k < kRowCount; ++k) lengths.push_back(k % 9);
      return Feed(ws, name, {kRowCount}, lengths);
    }
    case In::kTimestep:
      return Feed<int32_t>(ws, name, {1}, {5});
    case In::kCounts: {
      std::vector<double> counts;
      for (int64_t k = 0; k < kRowCount; ++k) counts.push_back(0.3 * static_cast<double>(k % 7));
      return Feed(ws, name, {kRowCount}, counts);
    }
  }
}

OperatorDef MakeOp(const Row& row) {
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < row.inputs.size(); ++i) inputs.push_back("X" + std::to_string(i));
  for (size_t k = 0; k < row.outputs.size(); ++k) {
    const int in_place = row.outputs[k];
    outputs.push_back(in_place < 0 ? "Y" + std::to_string(k) : "X" + std::to_string(in_place));
  }
  return Op(row.type, inputs, outputs, row.args);
}

// Numbers of a type in their order: the distance of two keys is the count of numbers from one to
// the other. -0 comes directly before 0.
template <typename T>
int64_t Key(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else {
    using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                    std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    Bits bits;
    std::memcpy(&bits, &value, sizeof(T));
    const Bits sign = Bits{1} << (8 * sizeof(T) - 1);
    const auto magnitude = static_cast<int64_t>(bits & static_cast<Bits>(~sign));
    return bits & sign ? -1 - magnitude : magnitude;
  }
}

template <typename T>
double AsDouble(T value) {
  if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
    return ToFloat(value);
  } else {
    return static_cast<double>(value);
  }
}

// The distance from a magnitude to the next larger number of the type.
template <typename T>
double Ulp(double magnitude) {
  const int digits = std::is_same_v<T, bfloat16>  ? 8
                     : std::is_same_v<T, float16> ? 11
                     : sizeof(T) == 8             ? 53
                                                  : 24;
  const int least = std::is_same_v<T, float16> ? -14 : sizeof(T) == 8 ? -1022 : -126;
  const int exponent = magnitude > 0 ? std::ilogb(magnitude) : least;
  return std::ldexp(1.0, std::max(exponent, least) - digits + 1);
}

// Of each element the largest magnitude among inputs of `n` elements, as far as it is finite.
std::vector<double> LargestOperands(const Workspace& ws, const Row& row, int64_t n) {
  std::vector<double> largest(n, 0);
  const auto add = [&](const auto* data) {
    for (int64_t k = 0; k < n; ++k) {
      const double magnitude = std::fabs(AsDouble(data[k]));
      if (std::isfinite(magnitude)) largest[k] = std::max(largest[k], magnitude);
    }
  };
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const Tensor& input = ws.GetBlob("X" + std::to_string(i))->Get<Tensor>();
    if (input.numel() != n) continue;
    if (input.IsType<float>()) add(input.data<float>());
    if (input.IsType<float16>()) add(input.data<float16>());
    if (input.IsType<bfloat16>()) add(input.data<bfloat16>());
  }
  return largest;
}

// Compares one output. `operands` is empty where ulps are counted at the result. Reports the
// element that is farthest off.
template <typename T>
void ExpectAgreement(const Row& row, const std::string& name, const Tensor& host,
                     const Tensor& device, const std::vector<double>& operands) {
  ASSERT_TRUE(device.IsType<T>()) << name << " is " << device.dtype().name();
  ASSERT_EQ(host.sizes(), device.sizes()) << name;
  const double limit = sizeof(T) == 2 ? std::min(row.ulps, 1.0) : row.ulps;
  const T *a = host.data<T>(), *b = device.data<T>();
  double most = 0;
  int64_t where = 0;
  for (int64_t k = 0; k < host.numel(); ++k) {
    const double x = AsDouble(a[k]), y = AsDouble(b[k]);
    if (std::isnan(x) && std::isnan(y)) continue;
    double ulps = static_cast<double>(std::abs(Key(a[k]) - Key(b[k])));
    if (std::isnan(x) || std::isnan(y)) ulps = std::numeric_limits<double>::infinity();
    if (!operands.empty() && std::isfinite(x) && std::isfinite(y)) {
      ulps = std::min(ulps, std::fabs(x - y) / Ulp<T>(std::max(operands[k], std::fabs(x))));
    }
    if (ulps > most) {
      most = ulps;
      where = k;
    }
  }
  if (most <= limit) return;
  ADD_FAILURE() << name << "[" << where << "] is " << AsDouble(a[where]) << " on the CPU and "
                << AsDouble(b[where]) << " on the device, which is " << most << " ulps apart; "
                << limit << " are allowed";
}

void ExpectAgreement(const Row& row, const std::string& name, const Tensor& host,
                     const Tensor& device, const std::vector<double>& operands) {
  if (host.IsType<float>()) return ExpectAgreement<float>(row, name, host, device, operands);
  if (host.IsType<float16>()) return ExpectAgreement<float16>(row, name, host, device, operands);
  if (host.IsType<bfloat16>()) return ExpectAgreement<bfloat16>(row, name, host, device, operands);
  if (host.IsType<double>()) return ExpectAgreement<double>(row, name, host, device, operands);
  if (host.IsType<bool>()) return ExpectAgreement<bool>(row, name, host, device, {});
  if (host.IsType<uint8_t>()) return ExpectAgreement<uint8_t>(row, name, host, device, {});
  if (host.IsType<int32_t>()) return ExpectAgreement<int32_t>(row, name, host, device, {});
  if (host.IsType<int64_t>()) return ExpectAgreement<int64_t>(row, name, host, device, {});
  FAIL() << name << " is " << host.dtype().name();
}

// Runs the operator with inputs of T on both and compares all outputs. If the CPU version does not
// take the type, returns false, and why in `refusal`.
template <typename T>
bool CompareDevices(const Row& row, std::string* refusal) {
  SCOPED_TRACE(TypeMeta::Make<T>().name());
  Workspace host, device;
  for (int i = 0; i < static_cast<int>(row.inputs.size()); ++i) {
    FeedInput<T>(&host, row, i);
    FeedInput<T>(&device, row, i);
  }
  const OperatorDef op = MakeOp(row);
  std::map<int64_t, std::vector<double>> operands;
  if (row.at == At::kOperands) {
    for (const int64_t n : {kSize, 2 * kSize, kRowCount, kRowCount / 2 * kWidth}) {
      operands[n] = LargestOperands(host, row, n);
    }
  }
  try {
    host.RunOperatorOnce(op);
  } catch (const EnforceNotMet& error) {
    *refusal = error.what();
    return false;
  }
  RunOp(&device, op, kInferenceOptional);
  for (const std::string& name : op.output()) {
    const Tensor& expected = host.GetBlob(name)->Get<Tensor>();
    ExpectAgreement(row, name, expected, Fetch(device, name), operands[expected.numel()]);
  }
  return true;
}

class DeviceAgreementTest : public ::testing::TestWithParam<Row> {};

TEST_P(DeviceAgreementTest, OfTheCpuAndTheDevice) {
  NEED_CUDA();
  const Row& row = GetParam();
  std::string refusal;
  const int types = CompareDevices<float>(row, &refusal) + CompareDevices<float16>(row, &refusal) +
                    CompareDevices<bfloat16>(row, &refusal) +
                    CompareDevices<int32_t>(row, &refusal) + CompareDevices<bool>(row, &refusal);
  EXPECT_GT(types, 0) << row.type << " took no type on the CPU: " << refusal;
}

INSTANTIATE_TEST_SUITE_P(All, DeviceAgreementTest, ::testing::ValuesIn(AgreementRows()),
                         [](const auto& info) {
                           return std::string(info.param.type) + "_" + std::to_string(info.index);
                         });

// The random numbers stand in two places: caffe2/core/random.cc and activation/dropout_op.cu.
TEST(DropoutAgreementTest, DropsTheElementsThatTheCpuDrops) {
  NEED_CUDA();
  OperatorDef op = Op("Dropout", {"X"}, {"Y", "mask"}, Args("ratio", 0.3f));
  op.mutable_device_option()->set_random_seed(7);
  Workspace host, device;
  for (Workspace* ws : {&host, &device}) Feed(ws, "X", {1003}, std::vector<float>(1003, 2));
  host.RunOperatorOnce(op);
  RunOp(&device, op, kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(device, "Y"), FetchValues<float>(host, "Y"));
}

// Each operator of these families with a CUDA version is compared, or has a reason why not.
TEST(DeviceAgreementTableTest, HasAllOperatorsOfTheFamilies) {
  NEED_CUDA();
  std::set<std::string> compared;
  for (const Row& row : AgreementRows()) {
    compared.insert(row.type);
    EXPECT_EQ(row.ulps == 0, std::string(row.why).empty()) << row.type << " needs a reason";
  }
  for (const auto& [type, reason] : NotElementwise()) {
    EXPECT_EQ(compared.count(type), 0) << type << " is compared, so no reason is needed";
    EXPECT_TRUE(DeviceOperatorRegistry(CUDA)->Has(type)) << type;
  }
  int found = 0;
  for (const std::string& type : DeviceOperatorRegistry(CUDA)->Keys()) {
    const OpSchema* schema = OpSchemaRegistry::Schema(type);
    if (schema == nullptr) continue;
    for (const char* family : {"/activation/", "/elementwise/", "/optimizer/", "/recurrent/"}) {
      if (std::string(schema->file()).find(family) == std::string::npos) continue;
      ++found;
      EXPECT_TRUE(compared.count(type) || NotElementwise().count(type))
          << type << " is not compared";
    }
  }
  EXPECT_GT(found, 150);
}

}  // namespace
}  // namespace caffe2::testing
