// Operators on bfloat16 and, on CUDA devices, float16 tensors against themselves on the same values
// as float: the result must be the float one up to rounding, forward and backward.
#include <cmath>
#include <ostream>
#include <string>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/operator_gradient.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

struct Input {
  std::vector<int64_t> dims;
  bool parameter = false;  // float, of values that 16 bits can hold: some operators round it
  float low = -2, high = 2;
};

struct Case {
  const char* type;
  std::vector<Input> inputs;
  std::vector<Argument> args = {};
  int outputs = 1;
  int gradients = 1;  // of how many outputs, from the first; 0: it has none
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.type; }

// More than one block of widened elements, in none of which the number is whole.
const std::vector<int64_t> kImage = {2, 8, 9, 11};

std::vector<Case> Cases() {
  const Input image{kImage}, positive{kImage, false, 0.3f, 3};
  const Input channels{{8}, true};
  const auto alpha = MakeArgument("alpha", 0.3f);
  const auto nhwc = MakeArgument<std::string>("order", "NHWC");
  const std::vector<Argument> lrn = {MakeArgument("size", 3), MakeArgument("alpha", 0.5f),
                                     MakeArgument("beta", 0.75f)};
  std::vector<Case> cases = {
      {"Relu", {image}},
      {"LeakyRelu", {image}, {alpha}},
      {"Elu", {image}, {alpha}},
      {"Selu", {image}},
      {"ThresholdedRelu", {image}, {alpha}},
      {"Sigmoid", {image}},
      {"Tanh", {image}},
      {"Softplus", {image}},
      {"Softsign", {image}},
      {"Logit", {{kImage, false, 0.1f, 0.9f}}},
      {"Swish", {image}},
      {"Mish", {image}},
      {"Glu", {image}, {MakeArgument("dim", 1)}, 1, 0},
      {"ReplaceNaN", {image}, {}, 1, 0},
      {"Expand", {{{8, 1, 11}}}, {MakeArgument("shape", std::vector<int64_t>{2, 8, 9, 11})}},
      {"GroupNorm", {image, channels, channels}, {MakeArgument("group", 4)}, 3},
      {"GroupNorm", {{{2, 9, 11, 8}}, channels, channels}, {MakeArgument("group", 2), nhwc}, 3},
      {"RMSNorm", {image, {{99}}, {{99}}}, {MakeArgument("axis", 2)}, 2},
      {"AffineChannel",
       {{{2, 9, 11, 8}}, channels, channels},
       {MakeArgument("is_learnable", 1), nhwc}},
      {"PRelu", {image, channels}},
      {"PRelu", {{{2, 9, 11, 8}}, channels}, {nhwc}},
      {"PRelu", {image, {{1}, true}}},
      {"Dropout", {image}, {MakeArgument("ratio", 0.3f)}, 2},
      {"Dropout", {image}, {MakeArgument("is_test", 1)}},
      {"Softmax", {image}, {MakeArgument("axis", 2)}},
      {"LayerNorm", {image}, {MakeArgument("axis", 1)}, 3},
      {"InstanceNorm", {image, channels, channels}, {}, 3},
      {"InstanceNorm", {{{2, 9, 11, 8}}, channels, channels}, {nhwc}},
      {"LRN", {image}, lrn, 2},
      {"LRN", {{{2, 9, 11, 8}}}, {lrn[0], lrn[1], lrn[2], nhwc}},
      {"MatMul", {{{17, 20}}, {{20, 9}}}},
      {"BatchMatMul", {{{3, 17, 20}}, {{3, 20, 9}}}},
      {"ConvTranspose", {image, {{8, 4, 3, 3}, true}}, {MakeArgument("kernel", 3)}},
      {"Concat", {image, {{2, 3, 9, 11}}}, {}, 2},
      {"Split", {image}, {}, 2, 2},
      {"Transpose", {image}},
      {"NCHW2NHWC", {image}},
      {"NHWC2NCHW", {image}},
      {"ChannelShuffle", {image}, {MakeArgument("group", 2)}},
      {"PadImage", {image}, {MakeArgument("pad", 2), MakeArgument<std::string>("mode", "reflect")}},
      {"ResizeNearest",
       {image},
       {MakeArgument("width_scale", 2.f), MakeArgument("height_scale", 2.f)}},
      {"UpsampleNearest", {image}},
      {"AffineChannel", {image, channels, channels}, {MakeArgument("is_learnable", 1)}},
      {"Scale", {image}, {MakeArgument("scale", 1.7f)}},
      {"Clip", {image}, {MakeArgument("min", -1.f), MakeArgument("max", 0.7f)}},
      {"Abs", {image}},
      {"Negative", {image}},
      {"Sqr", {image}},
      {"Exp", {image}},
      {"Sqrt", {positive}},
      {"Log", {positive}},
      {"Sum", {image, image, image}},
      {"Mean", {image, image, image}},
      {"Max", {image, image, image}},
      {"Min", {image, image, image}},
      {"Pow", {image}, {MakeArgument("exponent", 2.f)}},
      {"Pow", {positive, image}},
      {"TopK", {image}, {MakeArgument("k", 3), MakeArgument("axis", 1)}, 2},
      {"SequenceMask",
       {image},
       {MakeArgument<std::string>("mode", "upper"), MakeArgument("fill_val", 0.5f)}},
      {"TopK", {{{3, 70}}}, {MakeArgument("k", 40)}, 2},
      {"SpaceToBatch", {image}, {MakeArgument("pad_t", 1), MakeArgument("pad_l", 1)}},
      {"BatchToSpace", {{{8, 3, 4, 5}}}},
      {"UpsampleBilinear",
       {image},
       {MakeArgument("width_scale", 1.7f), MakeArgument("height_scale", 0.6f)}},
      {"Sum", std::vector<Input>(35, {{3, 50}, false, 0.5f, 1})},
      {"Mean", std::vector<Input>(35, {{3, 50}, false, 0.5f, 1})},
      {"Max", std::vector<Input>(20, {{3, 50}})},
  };
  for (const char* type : {"Add", "Sub", "Mul"}) {
    cases.push_back({type, {image, image}});
    cases.push_back({type, {image, {{11}}}, {MakeArgument("broadcast", 1)}});
  }
  cases.push_back({"Div", {image, positive}});
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1"}) {
    cases.push_back({type, {image}, {MakeArgument("axes", std::vector<int>{2, 3})}});
  }
  cases.push_back({"ReduceL2", {image}, {MakeArgument("axes", std::vector<int>{0, 1})}});
  for (const char* type : {"ReduceFrontSum", "ReduceFrontMean", "ReduceFrontMax", "ReduceBackSum",
                           "ReduceBackMean", "ReduceBackMax"}) {
    cases.push_back({type, {image}, {MakeArgument("num_reduce_dim", 2)}});
  }
  return cases;
}

bfloat16 RoundTo(float value, bfloat16) { return ToBFloat16(value); }
float16 RoundTo(float value, float16) { return ToFloat16(value); }

// What the result may differ by: four times the rounding of one operation.
template <typename T>
constexpr float kTolerance = std::is_same_v<T, bfloat16> ? 0x1p-7f : 0x1p-9f;

// The values of a tensor of float or T.
template <typename T>
std::vector<float> FloatValues(const Tensor& tensor) {
  if (tensor.IsType<float>()) {
    return std::vector<float>(tensor.data<float>(), tensor.data<float>() + tensor.numel());
  }
  std::vector<float> values;
  const T* data = tensor.data<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values.push_back(ToFloat(data[i]));
  return values;
}

template <typename T>
void FeedRounded(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims,
                 const std::vector<float>& values) {
  std::vector<T> rounded;
  for (const float value : values) rounded.push_back(RoundTo(value, T{}));
  Feed(ws, name, dims, rounded);
}

// `to` gets every tensor of `from`, with T widened to float.
template <typename T>
void CopyWidened(const Workspace& from, Workspace* to) {
  for (const std::string& name : from.Blobs()) {
    const Tensor& tensor = Fetch(from, name);
    if (tensor.IsType<T>()) {
      Feed(to, name, tensor.sizes(), FloatValues<T>(tensor));
    } else {
      BlobGetMutableTensor(to->CreateBlob(name), Device{})->CopyFrom(tensor);
    }
  }
}

// The tensor of T (or of statistics and parameters) is the float one up to rounding.
template <typename T>
void ExpectClose(const Workspace& narrow, const Workspace& wide, const std::string& name) {
  SCOPED_TRACE(name);
  const Tensor &result = Fetch(narrow, name), &reference = Fetch(wide, name);
  ASSERT_EQ(result.sizes(), reference.sizes());
  if (!reference.IsType<float>()) {
    EXPECT_EQ(result.dtype(), reference.dtype());
    return;
  }
  const std::vector<float> values = FloatValues<T>(result), expected = FloatValues<T>(reference);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], std::fabs(expected[i]) * kTolerance<T> + 1e-5f)
        << "element " << i;
  }
}

std::string Name(const char* kind, size_t i) { return kind + std::to_string(i); }

template <typename T>
void Compare(const Case& c) {
  Workspace narrow, wide;
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const auto& [dims, parameter, low, high] = c.inputs[i];
    inputs.push_back(Name("X", i));
    const int64_t n = CheckedNumel(dims.data(), static_cast<int>(dims.size()));
    FeedRounded<T>(&narrow, inputs[i], dims, RandomValues(n, i + 1, low, high, 0.01f));
    if (parameter) Feed(&narrow, inputs[i], dims, FloatValues<T>(Fetch(narrow, inputs[i])));
  }
  for (int i = 0; i < c.outputs; ++i) outputs.push_back(Name("Y", i));
  OperatorDef op = Op(c.type, inputs, outputs, c.args);
  op.mutable_device_option()->set_random_seed(5);

  CopyWidened<T>(narrow, &wide);
  RunOp(&narrow, op);
  RunOp(&wide, op);
  EXPECT_TRUE(Fetch(narrow, "Y0").IsType<T>());
  for (const std::string& name : outputs) ExpectClose<T>(narrow, wide, name);

  if (c.gradients == 0) return;
  std::vector<GradientWrapper> gradients(c.outputs);
  for (int i = 0; i < c.gradients; ++i) {
    gradients[i].dense = Name("dY", i);
    const Tensor& y = Fetch(narrow, outputs[i]);
    FeedRounded<T>(&narrow, gradients[i].dense, y.sizes(), RandomValues(y.numel(), 9, 0.2f, 1));
  }
  CopyWidened<T>(narrow, &wide);
  const GradientOpsMeta meta = GetGradientForOp(op, gradients);
  for (const OperatorDef& gradient_op : meta.ops) {
    RunOp(&narrow, gradient_op);
    RunOp(&wide, gradient_op);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = meta.g_input[i].dense;
    EXPECT_EQ(Fetch(narrow, name).dtype(), Fetch(narrow, inputs[i]).dtype()) << name;
    ExpectClose<T>(narrow, wide, name);
  }
}

// Operators without gradient, on values of which some are equal.
TEST(BFloat16ComparisonTest, IsTheFloatResult) {
  Workspace narrow, wide;
  std::vector<float> a = RandomValues(66, 1), b = RandomValues(66, 2);
  std::copy_n(a.begin(), 20, b.begin());
  FeedRounded<bfloat16>(&narrow, "A", {6, 11}, a);
  FeedRounded<bfloat16>(&narrow, "B", {6, 11}, b);
  CopyWidened<bfloat16>(narrow, &wide);
  for (const char* type : {"EQ", "NE", "LT", "LE", "GT", "GE", "ArgMax", "ArgMin"}) {
    SCOPED_TRACE(type);
    const bool unary = std::string(type).starts_with("Arg");
    const OperatorDef op =
        Op(type, unary ? std::vector<std::string>{"A"} : std::vector<std::string>{"A", "B"}, {"C"});
    RunOp(&narrow, op);
    RunOp(&wide, op);
    if (unary) {
      EXPECT_EQ(FetchValues<int64_t>(narrow, "C"), FetchValues<int64_t>(wide, "C"));
    } else {
      EXPECT_EQ(FetchValues<bool>(narrow, "C"), FetchValues<bool>(wide, "C"));
    }
  }
}

TEST(BFloat16ComparisonTest, SumReduceLikeRoundsOnce) {
  Workspace narrow, wide;
  FeedRounded<bfloat16>(&narrow, "A", {40, 11}, RandomValues(440, 1, 0.1f, 1));
  FeedRounded<bfloat16>(&narrow, "B", {11}, RandomValues(11, 2));
  CopyWidened<bfloat16>(narrow, &wide);
  const OperatorDef op = Op("SumReduceLike", {"A", "B"}, {"C"});
  RunOp(&narrow, op);
  RunOp(&wide, op);
  EXPECT_TRUE(Fetch(narrow, "C").IsType<bfloat16>());
  ExpectClose<bfloat16>(narrow, wide, "C");
}

// Whose labels are integers, and whose loss is float: float16 logits against the same as float.
TEST(Float16LossTest, OfPixelsIsTheFloatResult) {
  if (!TestsCuda()) GTEST_SKIP() << "float16 is for CUDA devices";
  if (NumDevices(CUDA) == 0) GTEST_SKIP() << "no device";
  Workspace narrow, wide;
  FeedRounded<float16>(&narrow, "X", {2, 5, 3, 4}, RandomValues(120, 1, -3, 3));
  std::vector<int> labels(24);
  for (int i = 0; i < 24; ++i) labels[i] = i % 6 - 1;
  Feed(&narrow, "label", {2, 3, 4}, labels);
  Feed<float>(&narrow, "dloss", {}, {0.7f});
  CopyWidened<float16>(narrow, &wide);
  for (Workspace* ws : {&narrow, &wide}) {
    RunOp(ws, Op("SpatialSoftmaxWithLoss", {"X", "label"}, {"P", "loss"}));
    RunOp(ws, Op("SpatialSoftmaxWithLossGradient", {"X", "label", "P", "dloss"}, {"dX"}));
  }
  EXPECT_TRUE(Fetch(narrow, "dX").IsType<float16>());
  for (const char* name : {"P", "loss"}) ExpectClose<float16>(narrow, wide, name);
  // P was rounded before the label was taken from it.
  const std::vector<float> values = FloatValues<float16>(Fetch(narrow, "dX"));
  const std::vector<float> expected = FetchValues<float>(wide, "dX");
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 0x1p-11f);
}

// What only devices compute in 16 bits.
template <typename T>
void CompareRecurrentUnits() {
  Workspace narrow, wide;
  const int64_t rows = 5, units = 7;
  int seed = 0;
  for (const char* name : {"h_prev", "c_prev", "dh", "dc"}) {
    FeedRounded<T>(&narrow, name, {1, rows, units}, RandomValues(rows * units, ++seed, 0.1f, 1));
  }
  FeedRounded<T>(&narrow, "gates4", {1, rows, 4 * units},
                 RandomValues(rows * 4 * units, 7, -1, 1, 0.2f));
  FeedRounded<T>(&narrow, "gates3", {1, rows, 3 * units},
                 RandomValues(rows * 3 * units, 8, -1, 1, 0.2f));
  Feed<int32_t>(&narrow, "lengths", {rows}, {3, 1, 4, 2, 5});
  Feed<int32_t>(&narrow, "t", {1}, {2});
  CopyWidened<T>(narrow, &wide);
  for (Workspace* ws : {&narrow, &wide}) {
    RunOp(ws, Op("LSTMUnit", {"h_prev", "c_prev", "gates4", "lengths", "t"}, {"h", "c"}));
    RunOp(ws, Op("GRUUnit", {"h_prev", "gates3", "lengths", "t"}, {"g"}));
  }
  for (const char* name : {"h", "c", "g"}) {
    EXPECT_TRUE(Fetch(narrow, name).IsType<T>()) << name;
    ExpectClose<T>(narrow, wide, name);
  }
  CopyWidened<T>(narrow, &wide);  // both go back from the rounded states
  for (Workspace* ws : {&narrow, &wide}) {
    RunOp(ws, Op("LSTMUnitGradient",
                 {"h_prev", "c_prev", "gates4", "lengths", "t", "h", "c", "dh", "dc"},
                 {"dh_prev", "dc_prev", "dgates4"}));
    RunOp(ws, Op("GRUUnitGradient", {"h_prev", "gates3", "lengths", "t", "g", "dh"},
                 {"dg_prev", "dgates3"}));
  }
  for (const char* name : {"dh_prev", "dc_prev", "dgates4", "dg_prev", "dgates3"}) {
    EXPECT_TRUE(Fetch(narrow, name).IsType<T>()) << name;
    ExpectClose<T>(narrow, wide, name);
  }
}

TEST(SixteenBitUnitTest, RecurrentUnitsAreTheFloatOnes) {
  if (!TestsCuda()) GTEST_SKIP() << "recurrent units of 16 bits are for CUDA devices";
  if (NumDevices(CUDA) == 0) GTEST_SKIP() << "no device";
  CompareRecurrentUnits<float16>();
  CompareRecurrentUnits<bfloat16>();
}

class SixteenBitTest : public ::testing::TestWithParam<Case> {};

TEST_P(SixteenBitTest, BFloat16IsTheFloatResultRounded) { Compare<bfloat16>(GetParam()); }

TEST_P(SixteenBitTest, Float16IsTheFloatResultRounded) {
  if (!TestsCuda()) GTEST_SKIP() << "float16 is for CUDA devices";
  if (NumDevices(CUDA) == 0 || !DeviceOperatorRegistry(CUDA)->Has(GetParam().type)) {
    GTEST_SKIP() << "no CUDA version or no device";
  }
  Compare<float16>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, SixteenBitTest, ::testing::ValuesIn(Cases()), [](const auto& info) {
  return std::string(info.param.type) + "_" + std::to_string(info.index);
});

}  // namespace
}  // namespace caffe2::testing
