#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// A case of two spatial axes, in NCHW.
struct ConvTransposeCase {
  std::string name;
  std::vector<int64_t> x, filter, y;
  int64_t stride_h, stride_w, pad_t, pad_l, group;
  std::vector<Argument> args;
};

// Every pixel lays its multiple of the filter over Y.
std::vector<float> Reference(const ConvTransposeCase& c, const std::vector<float>& x,
                             const std::vector<float>& filter, const std::vector<float>& bias) {
  std::vector<double> y(CheckedNumel(c.y));
  const int64_t per_group = c.filter[1], channels = c.x[1] / c.group;
  for (int64_t n = 0; n < c.y[0]; ++n) {
    for (int64_t m = 0; m < c.y[1]; ++m) {
      double* plane = y.data() + (n * c.y[1] + m) * c.y[2] * c.y[3];
      if (!bias.empty()) std::fill_n(plane, c.y[2] * c.y[3], bias[m]);
      for (int64_t k = 0; k < channels; ++k) {
        const int64_t ch = m / per_group * channels + k;
        for (int64_t i = 0; i < c.x[2] * c.x[3]; ++i) {
          const double value = x[(n * c.x[1] + ch) * c.x[2] * c.x[3] + i];
          for (int64_t kh = 0; kh < c.filter[2]; ++kh) {
            for (int64_t kw = 0; kw < c.filter[3]; ++kw) {
              const int64_t h = i / c.x[3] * c.stride_h - c.pad_t + kh;
              const int64_t w = i % c.x[3] * c.stride_w - c.pad_l + kw;
              if (h < 0 || w < 0 || h >= c.y[2] || w >= c.y[3]) continue;
              plane[h * c.y[3] + w] +=
                  value *
                  filter[((ch * per_group + m % per_group) * c.filter[2] + kh) * c.filter[3] + kw];
            }
          }
        }
      }
    }
  }
  return {y.begin(), y.end()};
}

std::vector<ConvTransposeCase> ConvTransposeCases() {
  const auto arg = [](const char* name, int value) { return MakeArgument<int>(name, value); };
  return {
      {"plain", {2, 3, 3, 4}, {3, 2, 3, 3}, {2, 2, 5, 6}, 1, 1, 0, 0, 1, {arg("kernel", 3)}},
      {"stride_pad_adj",
       {1, 2, 3, 4},
       {2, 3, 3, 3},
       {1, 3, 6, 7},
       2,
       2,
       1,
       1,
       1,
       {arg("kernel", 3), arg("stride", 2), arg("pad", 1), arg("adj_h", 1)}},
      {"sides",
       {1, 2, 3, 3},
       {2, 2, 2, 4},
       {1, 2, 5, 5},
       2,
       1,
       0,
       1,
       1,
       {arg("kernel_h", 2), arg("kernel_w", 4), arg("stride_h", 2), arg("stride_w", 1),
        arg("pad_l", 1), arg("pad_b", 1)}},
      {"groups",
       {2, 4, 3, 3},
       {4, 3, 2, 2},
       {2, 6, 6, 6},
       2,
       2,
       0,
       0,
       2,
       {arg("kernel", 2), arg("stride", 2), arg("group", 2)}},
  };
}

class ConvTransposeTest : public ::testing::TestWithParam<std::tuple<ConvTransposeCase, bool>> {
 protected:
  ConvTransposeTest() {
    x_ = RandomValues(CheckedNumel(c_.x), 1);
    filter_ = RandomValues(CheckedNumel(c_.filter), 2);
    bias_ = RandomValues(c_.y[1], 3);
    FeedImage(&ws_, "X", c_.x, x_, nhwc_);
    FeedImage(&ws_, "w", c_.filter, filter_, nhwc_);
    Feed(&ws_, "b", {c_.y[1]}, bias_);
    args_ = c_.args;
    args_.push_back(MakeArgument<std::string>("order", OrderName(nhwc_)));
  }

  const ConvTransposeCase c_ = std::get<0>(GetParam());
  const bool nhwc_ = std::get<1>(GetParam());
  std::vector<float> x_, filter_, bias_;
  std::vector<Argument> args_;
  Workspace ws_;
};

TEST_P(ConvTransposeTest, EqualsTheDirectSum) {
  RunOp(&ws_, Op("ConvTranspose", {"X", "w", "b"}, {"Y"}, args_));
  ExpectImage(ws_, "Y", c_.y, Reference(c_, x_, filter_, bias_), nhwc_);
  RunOp(&ws_, Op("ConvTranspose", {"X", "w"}, {"Y"}, args_));
  ExpectImage(ws_, "Y", c_.y, Reference(c_, x_, filter_, {}), nhwc_);
}

TEST_P(ConvTransposeTest, Gradient) {
  CheckGradient(&ws_, Op("ConvTranspose", {"X", "w", "b"}, {"Y"}, args_), {0, 1, 2});
  CheckGradient(&ws_, Op("ConvTranspose", {"X", "w"}, {"Y"}, args_), {0, 1});
}

TEST_P(ConvTransposeTest, BFloat16RoundsOnlyTheResult) {
  FeedImage(&ws_, "X", c_.x, ToBFloat16(x_), nhwc_);
  FeedImage(&ws_, "w", c_.filter, ToBFloat16(filter_), nhwc_);
  RunOp(&ws_, Op("ConvTranspose", {"X", "w"}, {"Y"}, args_));
  WidenBlob(&ws_, "Y");
  ExpectImage(ws_, "Y", c_.y, Reference(c_, Rounded(x_), Rounded(filter_), {}), nhwc_, 8e-3f,
              8e-3f);
}

INSTANTIATE_TEST_SUITE_P(All, ConvTransposeTest,
                         ::testing::Combine(::testing::ValuesIn(ConvTransposeCases()),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  OrderName(std::get<1>(info.param));
                         });

TEST(ConvTranspose, EmptyBatch) {
  Workspace ws;
  Feed(&ws, "X", {0, 2, 3, 3}, std::vector<float>());
  FeedRandom(&ws, "w", {2, 1, 2, 2}, 1);
  const std::vector<Argument> args = {MakeArgument<int>("kernel", 2)};
  RunOp(&ws, Op("ConvTranspose", {"X", "w"}, {"Y"}, args));
  ExpectTensor(ws, "Y", {0, 1, 4, 4}, {});
  RunOp(&ws, Op("ConvTransposeGradient", {"X", "w", "Y"}, {"dw", "db", "dX"}, args));
  ExpectTensor(ws, "dw", {2, 1, 2, 2}, std::vector<float>(8, 0.f));
  ExpectTensor(ws, "db", {1}, {0.f});
}

TEST(ConvTranspose, RefusesWhatCannotWork) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 2, 3, 3}, 1);
  FeedRandom(&ws, "w", {2, 1, 2, 2}, 2);
  FeedRandom(&ws, "b", {2}, 3);
  const auto op = [](const std::vector<Argument>& more) {
    std::vector<Argument> args = {MakeArgument<int>("kernel", 2)};
    args.insert(args.end(), more.begin(), more.end());
    return Op("ConvTranspose", {"X", "w"}, {"Y"}, args);
  };
  ExpectThrows(&ws, op({MakeArgument<int>("adj", 1)}), "adj");
  ExpectThrows(&ws, op({MakeArgument<int>("pad", 2)}), "pads remove the whole output");
  ExpectThrows(&ws, op({MakeArgument<int>("dilation", 2)}), "dilation");
  ExpectThrows(&ws, op({MakeArgument<int>("group", 3)}), "argument group (3)");
  FeedRandom(&ws, "v", {3, 1, 2, 2}, 2);
  ExpectThrows(&ws, Op("ConvTranspose", {"X", "v"}, {"Y"}, {MakeArgument<int>("kernel", 2)}),
               "there must be one filter for each channel of the input: the filter has shape [3, "
               "1, 2, 2], the input [1, 2, 3, 3]");
  ExpectThrows(&ws, Op("ConvTranspose", {"X", "w", "b"}, {"Y"}, {MakeArgument<int>("kernel", 2)}),
               "bias");
}

}  // namespace
}  // namespace caffe2::testing
