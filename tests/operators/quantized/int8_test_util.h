// What the tests of operators on quantized tensors share.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "caffe2/core/random.h"
#include "caffe2/core/tensor_int8.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {

using int8::Int8TensorCPU;

// Feeds a quantized tensor of T: uint8_t, or int32_t of a bias.
template <typename T>
void FeedInt8(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
              const std::vector<T>& values, float scale, int zero_point) {
  ForgetOrigin(*ws, name);
  auto* tensor = ws->CreateBlob(name)->GetMutable<Int8TensorCPU>();
  tensor->scale = scale;
  tensor->zero_point = zero_point;
  tensor->t = Tensor(dims, values);
}

// n numbers of [min, max], from a fixed seed.
template <typename T>
std::vector<T> RandomIntegers(int64_t n, uint64_t seed, int min, int max) {
  RandomGenerator random(seed);
  std::vector<T> values(n);
  for (T& value : values) {
    value = static_cast<T>(min + std::floor((max - min + 1) * double{random.Uniform()}));
  }
  return values;
}

inline void FeedRandomLevels(Workspace* ws, const std::string& name,
                             const std::vector<int64_t>& dims, uint64_t seed, float scale,
                             int zero_point) {
  FeedInt8(ws, name, dims, RandomIntegers<uint8_t>(CheckedNumel(dims), seed, 0, 255), scale,
           zero_point);
}

inline const Int8TensorCPU& FetchInt8(const Workspace& ws, const std::string& name) {
  return ws.GetBlob(name)->Get<Int8TensorCPU>();
}
template <typename T = uint8_t>
Fetched<int> FetchLevels(const Workspace& ws, const std::string& name) {
  const Tensor& t = FetchInt8(ws, name).t;
  return {{t.data<T>(), t.data<T>() + t.numel()}, ws, name};
}

// The nearest level; exact but for ties.
inline int ReferenceLevel(double value, double scale, int zero_point, int min = 0) {
  return static_cast<int>(
      std::min(255., std::max<double>(min, std::rint(value / scale) + zero_point)));
}

// A float tensor `name` of what the quantized tensor stands for.
inline void FeedDequantized(Workspace* ws, const std::string& quantized, const std::string& name) {
  const Int8TensorCPU& q = FetchInt8(*ws, quantized);
  std::vector<float> values;
  for (int64_t i = 0; i < q.t.numel(); ++i) {
    values.push_back(q.scale * static_cast<float>(q.t.data<uint8_t>()[i] - q.zero_point));
  }
  Feed(ws, name, q.t.sizes(), values);
}

// The quantized tensor must be the levels of the float one, but for `steps` of rounding.
inline void ExpectLevelsOf(const Workspace& ws, const std::string& quantized,
                           const std::string& expected, int steps, int min = 0) {
  const Int8TensorCPU& q = FetchInt8(ws, quantized);
  EXPECT_EQ(q.t.sizes(), Fetch(ws, expected).sizes());
  const auto values = FetchValues<float>(ws, expected);
  const auto levels = FetchLevels(ws, quantized);
  ASSERT_EQ(levels.size(), values.size());
  NoteCompared(levels.origin, values.origin);
  for (size_t i = 0; i < levels.size(); ++i) {
    ASSERT_NEAR(levels[i], ReferenceLevel(values[i], q.scale, q.zero_point, min), steps) << i;
  }
}

inline std::vector<Argument> WithScale(std::vector<Argument> args, float scale, int zero_point) {
  args.push_back(MakeArgument("Y_scale", scale));
  args.push_back(MakeArgument("Y_zero_point", zero_point));
  return args;
}

constexpr float kInt8Scale = 0.25f;
constexpr int kInt8Zero = 100;

class Int8Test : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandomLevels(&ws_, "X", {2, 5, 6, 4}, 1, kInt8Scale, kInt8Zero);
    FeedDequantized(&ws_, "X", "x");
  }
  // The operator on X must give the levels of what `plain` gives of x, within `steps`.
  void ExpectSame(const OperatorDef& op, const OperatorDef& plain, int steps, int min = 0) {
    RunOp(&ws_, op);
    ASSERT_TRUE(ws_.RunOperatorOnce(plain));
    ExpectLevelsOf(ws_, op.output(0), plain.output(0), steps, min);
  }
  static std::vector<Argument> Kept(std::vector<Argument> args = {}) {
    return WithScale(std::move(args), kInt8Scale, kInt8Zero);
  }
  Workspace ws_;
};

}  // namespace caffe2::testing
