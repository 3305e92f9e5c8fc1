#include "operators/conv/conv_op.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// A case, in NCHW; shapes of one to three spatial axes.
struct Case {
  std::string name;
  std::vector<int64_t> x, filter, y;
  std::vector<int64_t> stride, dilation, pad_begin, pad_end;
  int64_t group = 1;
  std::vector<Argument> args;  // what the operator is told
};

// Brings a shape to three spatial axes, with ones in front.
std::vector<int64_t> Pad(std::vector<int64_t> v, size_t keep, int64_t fill) {
  while (v.size() < keep + 3) v.insert(v.begin() + keep, fill);
  return v;
}

// Direct convolution in double.
std::vector<float> Reference(const Case& c, const std::vector<float>& x,
                             const std::vector<float>& filter, const std::vector<float>& bias) {
  const auto xs = Pad(c.x, 2, 1), fs = Pad(c.filter, 2, 1), ys = Pad(c.y, 2, 1);
  const auto stride = Pad(c.stride, 0, 1), dilation = Pad(c.dilation, 0, 1),
             pad = Pad(c.pad_begin, 0, 0);
  const int64_t filters_per_group = ys[1] / c.group;
  std::vector<float> y;
  int64_t at[3], k[3];
  for (int64_t n = 0; n < ys[0]; ++n) {
    for (int64_t m = 0; m < ys[1]; ++m) {
      for (at[0] = 0; at[0] < ys[2]; ++at[0]) {
        for (at[1] = 0; at[1] < ys[3]; ++at[1]) {
          for (at[2] = 0; at[2] < ys[4]; ++at[2]) {
            double sum = bias.empty() ? 0 : bias[m];
            for (int64_t ch = 0; ch < fs[1]; ++ch) {
              for (k[0] = 0; k[0] < fs[2]; ++k[0]) {
                for (k[1] = 0; k[1] < fs[3]; ++k[1]) {
                  for (k[2] = 0; k[2] < fs[4]; ++k[2]) {
                    int64_t index = n * xs[1] + m / filters_per_group * fs[1] + ch;
                    bool inside = true;
                    for (int a = 0; a < 3; ++a) {
                      const int64_t i = at[a] * stride[a] - pad[a] + k[a] * dilation[a];
                      inside = inside && i >= 0 && i < xs[a + 2];
                      index = index * xs[a + 2] + i;
                    }
                    if (!inside) continue;
                    const int64_t w =
                        (((m * fs[1] + ch) * fs[2] + k[0]) * fs[3] + k[1]) * fs[4] + k[2];
                    sum += static_cast<double>(x[index]) * filter[w];
                  }
                }
              }
            }
            y.push_back(static_cast<float>(sum));
          }
        }
      }
    }
  }
  return y;
}

std::vector<Case> Cases() {
  return {
      {"plain",
       {2, 3, 5, 6},
       {4, 3, 3, 2},
       {2, 4, 3, 5},
       {1, 1},
       {1, 1},
       {0, 0},
       {0, 0},
       1,
       {MakeArgument<int>("kernel_h", 3), MakeArgument<int>("kernel_w", 2)}},
      {"pads_a_side",
       {1, 2, 4, 5},
       {3, 2, 3, 3},
       {1, 3, 4, 2},
       {1, 2},
       {1, 1},
       {1, 0},
       {1, 1},
       1,
       {MakeArgument<int>("kernel", 3), MakeArgument<int>("stride_h", 1),
        MakeArgument<int>("stride_w", 2), MakeArgument<int>("pad_t", 1),
        MakeArgument<int>("pad_b", 1), MakeArgument<int>("pad_r", 1)}},
      {"groups_dilation",
       {2, 4, 6, 6},
       {6, 2, 3, 3},
       {2, 6, 4, 4},
       {1, 1},
       {2, 2},
       {1, 1},
       {1, 1},
       2,
       {MakeArgument<int>("kernel", 3), MakeArgument<int>("dilation", 2),
        MakeArgument<int>("pad", 1), MakeArgument<int>("group", 2)}},
      {"depthwise",
       {1, 8, 5, 5},
       {8, 1, 3, 3},
       {1, 8, 3, 3},
       {2, 2},
       {1, 1},
       {1, 1},
       {1, 1},
       8,
       {MakeArgument<int>("kernel", 3), MakeArgument<int>("stride", 2), MakeArgument<int>("pad", 1),
        MakeArgument<int>("group", 8)}},
      // For these oneDNN chooses the layout in NCHW (PrefersOwnLayout).
      {"many_channels",
       {2, 16, 5, 4},
       {8, 16, 3, 3},
       {2, 8, 3, 2},
       {2, 2},
       {1, 1},
       {1, 1},
       {1, 1},
       1,
       {MakeArgument<int>("kernel", 3), MakeArgument<int>("stride", 2),
        MakeArgument<int>("pad", 1)}},
      {"depthwise_20",
       {2, 20, 6, 5},
       {20, 1, 5, 5},
       {2, 20, 6, 5},
       {1, 1},
       {1, 1},
       {2, 2},
       {2, 2},
       20,
       {MakeArgument<int>("kernel", 5), MakeArgument<int>("pad", 2),
        MakeArgument<int>("group", 20)}},
      {"groups_of_four",
       {2, 32, 4, 3},
       {32, 4, 3, 3},
       {2, 32, 4, 3},
       {1, 1},
       {1, 1},
       {1, 1},
       {1, 1},
       8,
       {MakeArgument<int>("kernel", 3), MakeArgument<int>("pad", 1),
        MakeArgument<int>("group", 8)}},
      // The last column is reached by no window.
      {"floor",
       {1, 1, 6, 6},
       {2, 1, 3, 3},
       {1, 2, 2, 2},
       {2, 2},
       {1, 1},
       {0, 0},
       {0, 0},
       1,
       {MakeArgument<int>("kernel", 3), MakeArgument<int>("stride", 2),
        MakeArgument<int>("legacy_pad", 1)}},
      {"same",
       {1, 2, 5, 4},
       {3, 2, 4, 4},
       {1, 3, 3, 2},
       {2, 2},
       {1, 1},
       {1, 1},
       {2, 1},
       1,
       {MakeArgument<int>("kernel", 4), MakeArgument<int>("stride", 2),
        MakeArgument<int>("legacy_pad", 2)}},
      {"one_axis",
       {2, 3, 7},
       {4, 3, 3},
       {2, 4, 4},
       {2},
       {1},
       {1},
       {1},
       1,
       {MakeArgument("kernels", std::vector<int>{3}), MakeArgument("strides", std::vector<int>{2}),
        MakeArgument("pads", std::vector<int>{1, 1})}},
      {"three_axes",
       {1, 2, 3, 4, 5},
       {3, 2, 2, 3, 3},
       {1, 3, 2, 4, 5},
       {1, 1, 1},
       {1, 1, 1},
       {0, 1, 1},
       {0, 1, 1},
       1,
       {MakeArgument("kernels", std::vector<int>{2, 3, 3}),
        MakeArgument("pads", std::vector<int>{0, 1, 1, 0, 1, 1})}},
  };
}

std::string TypeFor(const Case& c) {
  return c.x.size() == 3 ? "Conv1D" : c.x.size() == 5 ? "Conv3D" : "Conv2D";
}

std::vector<Argument> With(std::vector<Argument> args, const Argument& more) {
  args.push_back(more);
  return args;
}

class ConvTest : public ::testing::TestWithParam<std::tuple<Case, bool>> {
 protected:
  ConvTest() {
    x_ = RandomValues(CheckedNumel(c_.x), 1);
    filter_ = RandomValues(CheckedNumel(c_.filter), 2);
    bias_ = RandomValues(c_.filter[0], 3);
    FeedImage(&ws_, "X", c_.x, x_, nhwc_);
    FeedImage(&ws_, "w", c_.filter, filter_, nhwc_);
    Feed(&ws_, "b", {c_.filter[0]}, bias_);
    args_ = With(c_.args, MakeArgument<std::string>("order", OrderName(nhwc_)));
  }

  const Case c_ = std::get<0>(GetParam());
  const bool nhwc_ = std::get<1>(GetParam());
  std::vector<float> x_, filter_, bias_;
  std::vector<Argument> args_;
  Workspace ws_;
};

TEST_P(ConvTest, EqualsTheDirectSum) {
  for (const std::string& type : {std::string("Conv"), TypeFor(c_)}) {
    RunOp(&ws_, Op(type, {"X", "w", "b"}, {"Y"}, args_));
    ExpectImage(ws_, "Y", c_.y, Reference(c_, x_, filter_, bias_), nhwc_);
  }
  RunOp(&ws_, Op("Conv", {"X", "w"}, {"Y"}, args_));
  ExpectImage(ws_, "Y", c_.y, Reference(c_, x_, filter_, {}), nhwc_);
}

TEST_P(ConvTest, Gradient) {
  CheckGradient(&ws_, Op("Conv", {"X", "w", "b"}, {"Y"}, args_), {0, 1, 2});
  CheckGradient(&ws_, Op(TypeFor(c_), {"X", "w"}, {"Y"}, args_), {0, 1});
}

TEST_P(ConvTest, BFloat16RoundsOnlyTheResult) {
  const std::vector<float> x = Rounded(x_), filter = Rounded(filter_);
  FeedImage(&ws_, "X", c_.x, ToBFloat16(x_), nhwc_);
  for (const bool float_filter : {false, true}) {
    if (float_filter) {
      FeedImage(&ws_, "w", c_.filter, filter, nhwc_);
    } else {
      FeedImage(&ws_, "w", c_.filter, ToBFloat16(filter), nhwc_);
    }
    RunOp(&ws_, Op("Conv", {"X", "w", "b"}, {"Y"}, args_));
    WidenBlob(&ws_, "Y");
    ExpectImage(ws_, "Y", c_.y, Reference(c_, x, filter, bias_), nhwc_, 8e-3f, 8e-3f);
  }
}

TEST_P(ConvTest, FusedFormsEqualTheSeparateOnes) {
  const std::vector<float> z = RandomValues(CheckedNumel(c_.y), 4);
  FeedImage(&ws_, "Z", c_.y, z, nhwc_);
  const std::vector<float> conv = Reference(c_, x_, filter_, bias_);
  std::vector<float> relu = conv, sum = conv, sum_relu = conv;
  for (size_t i = 0; i < conv.size(); ++i) {
    relu[i] = std::max(0.f, conv[i]);
    sum[i] = conv[i] + z[i];
    sum_relu[i] = std::max(0.f, sum[i]);
  }
  RunOp(&ws_, Op("ConvRelu", {"X", "w", "b"}, {"Y"}, args_));
  ExpectImage(ws_, "Y", c_.y, relu, nhwc_);
  RunOp(&ws_, Op("ConvSum", {"X", "w", "b", "Z"}, {"Y"}, args_));
  ExpectImage(ws_, "Y", c_.y, sum, nhwc_);
  RunOp(&ws_, Op("ConvSumRelu", {"X", "w", "b", "Z"}, {"Y"}, args_));
  ExpectImage(ws_, "Y", c_.y, sum_relu, nhwc_);
  RunOp(&ws_, Op("ConvSumRelu", {"X", "w", "b", "Z"}, {"Z"}, args_));
  ExpectImage(ws_, "Z", c_.y, sum_relu, nhwc_);
}

INSTANTIATE_TEST_SUITE_P(All, ConvTest,
                         ::testing::Combine(::testing::ValuesIn(Cases()), ::testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  OrderName(std::get<1>(info.param));
                         });

// 64 tiles of odd edges; Winograd's gradients are held against the direct ones, which the numeric
// gradients above vouch for.
class ConvAlgorithmTest : public ::testing::TestWithParam<bool> {
 protected:
  ConvAlgorithmTest() {
    FeedImage(&ws_, "X", c_.x, x_, nhwc_);
    FeedImage(&ws_, "w", c_.filter, filter_, nhwc_);
    Feed(&ws_, "b", {48}, bias_);
    FeedImage(&ws_, "Z", c_.y, z_, nhwc_);
  }
  std::vector<Argument> Args(const std::string& algorithm) const {
    return {MakeArgument<int>("kernel", 3), MakeArgument<int>("pad", 1),
            MakeArgument<std::string>("order", OrderName(nhwc_)),
            MakeArgument<std::string>("algo", algorithm)};
  }

  const bool nhwc_ = GetParam();
  const Case c_ = {
      "winograd", {11, 32, 9, 7}, {48, 32, 3, 3}, {11, 48, 9, 7}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1,
      {}};
  const std::vector<float> x_ = RandomValues(CheckedNumel(c_.x), 1);
  const std::vector<float> filter_ = RandomValues(CheckedNumel(c_.filter), 2);
  const std::vector<float> bias_ = RandomValues(48, 3);
  const std::vector<float> z_ = RandomValues(CheckedNumel(c_.y), 4);
  Workspace ws_;
};

TEST_P(ConvAlgorithmTest, AllGiveTheSameUpToRounding) {
  const std::vector<float> conv = Reference(c_, x_, filter_, bias_);
  std::vector<float> sum_relu;
  for (size_t i = 0; i < conv.size(); ++i) sum_relu.push_back(std::max(0.f, conv[i] + z_[i]));
  for (const char* algorithm : {"AUTO", "DIRECT", "WINOGRAD", "UNKNOWN"}) {
    SCOPED_TRACE(algorithm);
    const auto args = Args(algorithm);
    RunOp(&ws_, Op("Conv", {"X", "w", "b"}, {"Y"}, args));
    ExpectImage(ws_, "Y", c_.y, conv, nhwc_, 1e-4f, 1e-4f);
    RunOp(&ws_, Op("ConvSumRelu", {"X", "w", "b", "Z"}, {"Y"}, args));
    ExpectImage(ws_, "Y", c_.y, sum_relu, nhwc_, 1e-4f, 1e-4f);
  }
}

// Moves the blob's tensor to memory that the caller can watch.
std::weak_ptr<void> OwnMemory(Blob* blob) {
  auto* tensor = blob->GetMutable<Tensor>();
  const auto memory = std::make_shared<std::vector<float>>(tensor->data<float>(),
                                                           tensor->data<float>() + tensor->numel());
  const std::shared_ptr<void> values(memory, memory->data());
  tensor->ShareExternalPointer(values, tensor->dtype(), tensor->nbytes());
  return values;
}

// Filters that are transformed once: in the first run, and again after the blob got another tensor.
TEST_P(ConvAlgorithmTest, ConstantFiltersAreKept) {
  const std::vector<float> conv = Reference(c_, x_, filter_, bias_);
  for (const char* algorithm : {"AUTO", "DIRECT", "WINOGRAD"}) {
    SCOPED_TRACE(algorithm);
    FeedImage(&ws_, "w", c_.filter, filter_, nhwc_);
    auto args = Args(algorithm);
    args.push_back(MakeArgument<int>("constant_filter", 1));
    const auto op = CreateOperator(Op("Conv", {"X", "w", "b"}, {"Y"}, args), &ws_);
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(op->Run());
      ExpectImage(ws_, "Y", c_.y, conv, nhwc_, 1e-4f, 1e-4f);
    }
    // While the operator tells filters apart by their addresses, it must keep the last one's
    // memory.
    const std::weak_ptr<void> old = OwnMemory(ws_.GetBlob("w"));
    ASSERT_TRUE(op->Run());
    ws_.GetBlob("w")->Reset();
    EXPECT_FALSE(old.expired());
    FeedImage(&ws_, "w", c_.filter, std::vector<float>(filter_.size(), 0.f), nhwc_);
    ASSERT_TRUE(op->Run());
    std::vector<float> biases;
    for (size_t i = 0; i < conv.size(); ++i) biases.push_back(bias_[i / (9 * 7) % 48]);
    ExpectImage(ws_, "Y", c_.y, biases, nhwc_, 1e-6f, 1e-6f);
  }
}

TEST_P(ConvAlgorithmTest, GradientsAgree) {
  for (const char* algorithm : {"DIRECT", "WINOGRAD"}) {
    const std::string prefix = algorithm;
    RunOp(&ws_, Op("ConvGradient", {"X", "w", "Z"}, {prefix + "dw", prefix + "db", prefix + "dX"},
                   Args(algorithm)));
  }
  for (const char* name : {"dw", "db", "dX"}) {
    SCOPED_TRACE(name);
    const Tensor& direct = ws_.GetBlob("DIRECT" + std::string(name))->Get<Tensor>();
    const float* values = direct.data<float>();
    ExpectTensor(ws_, "WINOGRAD" + std::string(name), direct.sizes(),
                 std::vector<float>(values, values + direct.numel()), 1e-3f, 1e-4f);
  }
}
INSTANTIATE_TEST_SUITE_P(Orders, ConvAlgorithmTest, ::testing::Bool(),
                         [](const auto& info) { return OrderName(info.param); });

TEST(Conv, WinogradIsForManyChannelsAndTiles) {
  onednn::ConvProblem problem;
  problem.src = problem.dst = {128, 64, 32, 32};
  problem.filter = {64, 64, 3, 3};
  problem.stride = problem.dilation = problem.pad_begin = {1, 1};
  problem.type = TypeMeta::Make<float>();
  constexpr auto kForward = onednn::ConvDirection::kForward;
  EXPECT_TRUE(onednn::PrefersWinograd(problem, kForward));
  const auto refused = [&](auto change) {
    onednn::ConvProblem other = problem;
    change(&other);
    return !onednn::PrefersWinograd(other, kForward);
  };
  EXPECT_TRUE(refused([](auto* p) { p->stride = {2, 2}; }));
  EXPECT_TRUE(refused([](auto* p) { p->dilation = {2, 1}; }));
  EXPECT_TRUE(refused([](auto* p) { p->groups = 2; }));
  EXPECT_TRUE(refused([](auto* p) { p->filter = {64, 64, 3, 5}; }));
  EXPECT_TRUE(refused([](auto* p) { p->filter[1] = p->src[1] = 3; }));
  EXPECT_TRUE(refused([](auto* p) { p->src = p->dst = {1, 64, 16, 16}; }));
  EXPECT_TRUE(refused([](auto* p) { p->type = TypeMeta::Make<bfloat16>(); })) << "in NCHW";
  // A filter that is transformed once may have fewer tiles.
  const auto kept = [](int64_t size) {
    return [size](auto* p) {
      p->src = p->dst = {1, 64, size, size};
      p->constant_filter = true;
    };
  };
  EXPECT_FALSE(refused(kept(16)));
  EXPECT_TRUE(refused(kept(12)));
}

TEST(Conv, FusedGradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4, 4}, 1);
  FeedRandom(&ws, "w", {2, 3, 3, 3}, 2, 0.1f, 1.f);
  FeedRandom(&ws, "b", {2}, 3);
  // Far from the kink of Relu: the first filter's sums are far above zero, the second's far below.
  Feed(&ws, "b", {2}, std::vector<float>{30.f, -30.f});
  FeedRandom(&ws, "Z", {2, 2, 2, 2}, 4);
  const std::vector<Argument> args = {MakeArgument<int>("kernel", 3)};
  CheckGradient(&ws, Op("ConvRelu", {"X", "w", "b"}, {"Y"}, args), {0, 1, 2});
  CheckGradient(&ws, Op("ConvSum", {"X", "w", "b", "Z"}, {"Y"}, args), {0, 1, 2, 3});
  CheckGradient(&ws, Op("ConvSum", {"X", "w", "Z"}, {"Y"}, args), {0, 1, 2});
  CheckGradient(&ws, Op("ConvSumRelu", {"X", "w", "b", "Z"}, {"Y"}, args), {0, 1, 2, 3});
}

TEST(Conv, FollowsChangingShapesAndFilters) {
  Workspace ws;
  const OperatorDef op = Op("Conv", {"X", "w"}, {"Y"}, {MakeArgument<int>("kernel", 1)});
  Feed(&ws, "X", {1, 1, 1, 2}, std::vector<float>{1, 2});
  Feed(&ws, "w", {1, 1, 1, 1}, std::vector<float>{3});
  NetDef net;
  net.set_name("net");
  *net.add_op() = op;
  ws.CreateNet(net);
  ASSERT_TRUE(ws.RunNet("net"));
  ExpectTensor(ws, "Y", {1, 1, 1, 2}, {3, 6});
  Feed(&ws, "w", {1, 1, 1, 1}, std::vector<float>{4});
  ASSERT_TRUE(ws.RunNet("net"));
  ExpectTensor(ws, "Y", {1, 1, 1, 2}, {4, 8});
  Feed(&ws, "X", {2, 1, 1, 1}, std::vector<float>{1, 2});
  ASSERT_TRUE(ws.RunNet("net"));
  ExpectTensor(ws, "Y", {2, 1, 1, 1}, {4, 8});
}

TEST(Conv, CostCountsMultiplyAndAdd) {
  const OperatorDef op = Op("Conv", {"X", "w"}, {"Y"}, {MakeArgument<int>("kernel", 3)});
  const auto cost = OpSchemaRegistry::Schema("Conv")->InferCost(
      op, {CreateTensorShape({2, 3, 5, 5}, TensorProto::FLOAT),
           CreateTensorShape({4, 3, 3, 3}, TensorProto::FLOAT)});
  EXPECT_EQ(cost.flops, 2u * 2 * 4 * 3 * 3 * 27);
  EXPECT_EQ(cost.params_bytes, 4u * 108);
}

TEST(Conv, RefusesWhatCannotWork) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 4, 5, 5}, 1);
  FeedRandom(&ws, "w", {2, 4, 3, 3}, 2);
  FeedRandom(&ws, "b", {3}, 3);
  const auto conv = [](const std::vector<Argument>& args) {
    return Op("Conv", {"X", "w"}, {"Y"}, args);
  };
  const Argument kernel = MakeArgument<int>("kernel", 3);
  ExpectThrows(&ws, conv({}), "kernel");
  ExpectThrows(&ws, conv({MakeArgument<int>("kernel", 0)}),
               "argument kernel must be from 1 to 2147483647, found 0");
  ExpectThrows(&ws, conv({MakeArgument<int>("kernel", 2)}), "does not have the kernel");
  ExpectThrows(&ws, conv({kernel, MakeArgument<int>("stride", 0)}),
               "argument stride must be from 1 to 2147483647, found 0");
  ExpectThrows(&ws, conv({kernel, MakeArgument<int>("dilation", -1)}),
               "argument dilation must be from 1 to 2147483647, found -1");
  ExpectThrows(&ws, conv({kernel, MakeArgument<int>("pad", -1)}),
               "a pad must be from 0 to 2147483647, found -1");
  ExpectThrows(&ws, conv({kernel, MakeArgument<int>("dilation", 3)}), "smaller than");
  ExpectThrows(&ws, conv({kernel, MakeArgument<int>("group", 3)}), "channels");
  ExpectThrows(&ws, conv({kernel, MakeArgument<int>("group", 0)}),
               "argument group must be positive, found 0");
  ExpectThrows(&ws, conv({kernel, MakeArgument<std::string>("order", "HWCN")}), "HWCN");
  ExpectThrows(&ws, conv({kernel, MakeArgument<int>("legacy_pad", 2), MakeArgument<int>("pad", 1)}),
               "legacy_pad");
  ExpectThrows(&ws, conv({kernel, MakeArgument("pads", std::vector<int>{1, 1})}), "pads");
  ExpectThrows(&ws, conv({kernel, MakeArgument<int64_t>("pad", int64_t{1} << 40)}),
               "a pad must be from 0 to 2147483647, found 1099511627776");
  FeedRandom(&ws, "switched", {1, 5, 4, 5}, 4);  // from 1 x 5 x 5 x 4, by NCHW2NHWC
  FeedRandom(&ws, "last", {2, 3, 3, 4}, 5);
  ExpectThrows(
      &ws,
      Op("Conv", {"switched", "last"}, {"Y"}, {kernel, MakeArgument<std::string>("order", "NHWC")}),
      "the axis of 4 may hold the channels of images that were in the order NHWC already");
  ExpectThrows(&ws, Op("Conv", {"X", "w", "b"}, {"Y"}, {kernel}), "bias");
  ExpectThrows(&ws, Op("Conv", {"X", "b"}, {"Y"}, {kernel}), "axes");
  Feed(&ws, "I", {1, 4, 5, 5}, std::vector<int>(100, 1));
  ExpectThrows(&ws, Op("Conv", {"I", "w"}, {"Y"}, {kernel}), "int");
  ExpectThrows(&ws, Op("ConvGradient", {"X", "w", "X"}, {"dw", "db", "dX"}, {kernel}), "dY");
}

}  // namespace
}  // namespace caffe2::testing
