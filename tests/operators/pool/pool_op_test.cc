#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// A case of two spatial axes, in NCHW.
struct Case {
  std::string name;
  std::vector<int64_t> x, y;
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_t, pad_l;
  std::vector<Argument> args;
};

std::vector<float> Reference(const Case& c, const std::vector<float>& x, bool max,
                             bool count_include_pad) {
  std::vector<float> y;
  const int64_t height = c.x[2], width = c.x[3];
  for (int64_t plane = 0; plane < c.x[0] * c.x[1]; ++plane) {
    for (int64_t h = 0; h < c.y[2]; ++h) {
      for (int64_t w = 0; w < c.y[3]; ++w) {
        double sum = 0, maximum = -std::numeric_limits<double>::infinity();
        int count = 0;
        for (int64_t i = h * c.stride_h - c.pad_t; i < h * c.stride_h - c.pad_t + c.kernel_h; ++i) {
          for (int64_t j = w * c.stride_w - c.pad_l; j < w * c.stride_w - c.pad_l + c.kernel_w;
               ++j) {
            if (i < 0 || j < 0 || i >= height || j >= width) continue;
            const double value = x[(plane * height + i) * width + j];
            sum += value;
            maximum = std::max(maximum, value);
            ++count;
          }
        }
        if (count_include_pad) count = static_cast<int>(c.kernel_h * c.kernel_w);
        y.push_back(static_cast<float>(max ? maximum : sum / count));
      }
    }
  }
  return y;
}

std::vector<Case> Cases() {
  const auto arg = [](const char* name, int value) { return MakeArgument<int>(name, value); };
  return {
      {"two_by_two",
       {2, 3, 4, 6},
       {2, 3, 2, 3},
       2,
       2,
       2,
       2,
       0,
       0,
       {arg("kernel", 2), arg("stride", 2)}},
      {"overlapping",
       {2, 5, 7, 9},
       {2, 5, 4, 5},
       3,
       3,
       2,
       2,
       1,
       1,
       {arg("kernel", 3), arg("stride", 2), arg("pad", 1)}},
      {"channels_in_packs",
       {2, 16, 7, 6},
       {2, 16, 4, 3},
       3,
       2,
       2,
       2,
       1,
       0,
       {arg("kernel_h", 3), arg("kernel_w", 2), arg("stride", 2), arg("pad_t", 1),
        arg("pad_b", 1)}},
      {"stride_one",
       {1, 2, 5, 5},
       {1, 2, 4, 3},
       2,
       3,
       1,
       1,
       0,
       0,
       {arg("kernel_h", 2), arg("kernel_w", 3)}},
      {"wide_stride",
       {1, 17, 8, 8},
       {1, 17, 3, 2},
       2,
       2,
       3,
       4,
       0,
       0,
       {arg("kernel", 2), arg("stride_h", 3), arg("stride_w", 4)}},
      {"pads_a_side",
       {1, 1, 5, 6},
       {1, 1, 3, 3},
       3,
       3,
       2,
       2,
       1,
       0,
       {arg("kernel", 3), arg("stride", 2), arg("pad_t", 1), arg("pad_b", 1), arg("pad_r", 1)}},
      {"caffe",
       {1, 2, 6, 8},
       {1, 2, 3, 4},
       3,
       3,
       2,
       2,
       0,
       0,
       {arg("kernel", 3), arg("stride", 2), arg("legacy_pad", 3)}},
      {"caffe_padded",
       {1, 2, 5, 4},
       {1, 2, 3, 3},
       3,
       3,
       2,
       2,
       1,
       1,
       {arg("kernel", 3), arg("stride", 2), arg("pad", 1), arg("legacy_pad", 3)}},
      {"same",
       {1, 2, 5, 4},
       {1, 2, 3, 2},
       3,
       3,
       2,
       2,
       1,
       0,
       {arg("kernel", 3), arg("stride", 2), arg("legacy_pad", 2)}},
      {"global_large", {2, 3, 7, 9}, {2, 3, 1, 1}, 7, 9, 1, 1, 0, 0, {arg("global_pooling", 1)}},
      {"global", {3, 4, 3, 5}, {3, 4, 1, 1}, 3, 5, 1, 1, 0, 0, {arg("global_pooling", 1)}},
      {"global_with_kernel",
       {3, 4, 3, 5},
       {3, 4, 1, 1},
       3,
       5,
       1,
       1,
       0,
       0,
       {arg("global_pooling", 1), arg("kernel", 2)}},
  };
}

class PoolTest : public ::testing::TestWithParam<std::tuple<Case, bool>> {
 protected:
  PoolTest() {
    // Distinct values, far apart against the step of numeric gradients: no ties.
    const int64_t n = CheckedNumel(c_.x);
    for (int64_t i = 0; i < n; ++i) x_.push_back(0.0625f * static_cast<float>((i * 7919) % n) - 1);
    FeedImage(&ws_, "X", c_.x, x_, nhwc_);
    args_ = c_.args;
    args_.push_back(MakeArgument<std::string>("order", OrderName(nhwc_)));
  }
  std::vector<Argument> IncludingPads() const {
    std::vector<Argument> args = args_;
    args.push_back(MakeArgument<int>("count_include_pad", 1));
    return args;
  }

  const Case c_ = std::get<0>(GetParam());
  const bool nhwc_ = std::get<1>(GetParam());
  std::vector<float> x_;
  std::vector<Argument> args_;
  Workspace ws_;
};

TEST_P(PoolTest, EqualsTheDirectLoop) {
  for (const char* type : {"MaxPool", "MaxPool2D"}) {
    RunOp(&ws_, Op(type, {"X"}, {"Y"}, args_));
    ExpectImage(ws_, "Y", c_.y, Reference(c_, x_, true, false), nhwc_, 0.f, 0.f);
  }
  for (const char* type : {"AveragePool", "AveragePool2D"}) {
    RunOp(&ws_, Op(type, {"X"}, {"Y"}, args_));
    ExpectImage(ws_, "Y", c_.y, Reference(c_, x_, false, false), nhwc_);
  }
  RunOp(&ws_, Op("AveragePool", {"X"}, {"Y"}, IncludingPads()));
  ExpectImage(ws_, "Y", c_.y, Reference(c_, x_, false, true), nhwc_);
}

TEST_P(PoolTest, Gradient) {
  for (const char* type : {"MaxPool", "MaxPool2D", "AveragePool", "AveragePool2D"}) {
    CheckGradient(&ws_, Op(type, {"X"}, {"Y"}, args_), {0});
  }
  CheckGradient(&ws_, Op("AveragePool", {"X"}, {"Y"}, IncludingPads()), {0});
}

TEST_P(PoolTest, BFloat16) {
  FeedImage(&ws_, "X", c_.x, ToBFloat16(x_), nhwc_);
  RunOp(&ws_, Op("MaxPool", {"X"}, {"Y"}, args_));
  WidenBlob(&ws_, "Y");
  ExpectImage(ws_, "Y", c_.y, Reference(c_, Rounded(x_), true, false), nhwc_, 0.f, 0.f);
  RunOp(&ws_, Op("AveragePool", {"X"}, {"Y"}, args_));
  WidenBlob(&ws_, "Y");
  ExpectImage(ws_, "Y", c_.y, Reference(c_, Rounded(x_), false, false), nhwc_, 4e-3f, 4e-3f);
}

// bfloat16 tensors have the gradients that the same values have in float, rounded once.
TEST_P(PoolTest, BFloat16Gradient) {
  const std::vector<float> dy = Rounded(RandomValues(CheckedNumel(c_.y), 5));
  for (const char* type : {"MaxPool", "AveragePool"}) {
    std::vector<float> dx;
    for (const bool narrow : {false, true}) {
      if (narrow) {
        FeedImage(&ws_, "X", c_.x, ToBFloat16(x_), nhwc_);
        FeedImage(&ws_, "dY", c_.y, ToBFloat16(dy), nhwc_);
      } else {
        FeedImage(&ws_, "X", c_.x, Rounded(x_), nhwc_);
        FeedImage(&ws_, "dY", c_.y, dy, nhwc_);
      }
      RunOp(&ws_, Op(type, {"X"}, {"Y"}, args_));
      RunOp(&ws_, Op(std::string(type) + "Gradient", {"X", "Y", "dY"}, {"dX"}, args_));
      if (!narrow) dx = FetchValues<float>(ws_, "dX");
    }
    WidenBlob(&ws_, "dX");
    ExpectTensor(ws_, "dX", Fetch(ws_, "X").sizes(), dx, 4e-3f, 1e-6f);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PoolTest,
                         ::testing::Combine(::testing::ValuesIn(Cases()), ::testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  OrderName(std::get<1>(info.param));
                         });

TEST(Pool, OneAndThreeAxes) {
  Workspace ws;
  Feed(&ws, "X", {1, 1, 5}, std::vector<float>{1, 5, 2, 3, 4});
  const std::vector<Argument> one = {MakeArgument("kernels", std::vector<int>{2}),
                                     MakeArgument("strides", std::vector<int>{2}),
                                     MakeArgument("pads", std::vector<int>{1, 0})};
  RunOp(&ws, Op("MaxPool1D", {"X"}, {"Y"}, one));
  ExpectTensor(ws, "Y", {1, 1, 3}, {1, 5, 4});
  RunOp(&ws, Op("AveragePool1D", {"X"}, {"Y"}, one));
  ExpectTensor(ws, "Y", {1, 1, 3}, {1, 3.5f, 3.5f});
  CheckGradient(&ws, Op("MaxPool1D", {"X"}, {"Y"}, one), {0});
  CheckGradient(&ws, Op("AveragePool1D", {"X"}, {"Y"}, one), {0});

  // 2 x 2 x 3 x 2 windows of 2 x 1 x 2 over a counting volume.
  std::vector<float> x;
  for (int i = 0; i < 3 * 3 * 3; ++i) x.push_back(static_cast<float>(i));
  Feed(&ws, "X", {1, 3, 3, 3, 1}, x);
  const std::vector<Argument> three = {MakeArgument("kernels", std::vector<int>{2, 1, 2}),
                                       MakeArgument<std::string>("order", "NHWC")};
  std::vector<float> max, average;
  for (int d = 0; d < 2; ++d) {
    for (int h = 0; h < 3; ++h) {
      for (int w = 0; w < 2; ++w) {
        max.push_back(static_cast<float>((d + 1) * 9 + h * 3 + w + 1));
        average.push_back(static_cast<float>(d * 9 + h * 3 + w) + 5.f);
      }
    }
  }
  RunOp(&ws, Op("MaxPool3D", {"X"}, {"Y"}, three));
  ExpectTensor(ws, "Y", {1, 2, 3, 2, 1}, max);
  RunOp(&ws, Op("AveragePool3D", {"X"}, {"Y"}, three));
  ExpectTensor(ws, "Y", {1, 2, 3, 2, 1}, average);
  CheckGradient(&ws, Op("MaxPool3D", {"X"}, {"Y"}, three), {0});
  CheckGradient(&ws, Op("AveragePool3D", {"X"}, {"Y"}, three), {0});
}

TEST(Pool, TiesShareTheGradientAndNaNWins) {
  Workspace ws;
  Feed(&ws, "X", {1, 1, 2, 2}, std::vector<float>{3, 1, 3, 2});
  Feed(&ws, "dY", {1, 1, 1, 1}, std::vector<float>{5});
  const std::vector<Argument> args = {MakeArgument<int>("kernel", 2)};
  RunOp(&ws, Op("MaxPool", {"X"}, {"Y"}, args));
  RunOp(&ws, Op("MaxPoolGradient", {"X", "Y", "dY"}, {"dX"}, args));
  ExpectTensor(ws, "dX", {1, 1, 2, 2}, {5, 0, 5, 0});
  Feed(&ws, "X", {1, 1, 2, 2}, std::vector<float>{3, NAN, 3, 2});
  RunOp(&ws, Op("MaxPool", {"X"}, {"Y"}, args));
  ExpectTensor(ws, "Y", {1, 1, 1, 1}, {NAN});
  for (const int place : {0, 3, 17, 34}) {
    std::vector<float> x(35, 7.f);
    x[place] = NAN;
    Feed(&ws, "X", {1, 1, 5, 7}, x);
    RunOp(&ws, Op("MaxPool", {"X"}, {"Y"}, {MakeArgument<int>("global_pooling", 1)}));
    ExpectTensor(ws, "Y", {1, 1, 1, 1}, {NAN});
  }
}

// A pooling in NCHW; windows may lie over the edges, and rows and columns may lie in no window.
struct Volume {
  std::array<int64_t, 3> x, kernel, stride, pad_begin, pad_end;
};

// The sums of a plain loop over X, window rows in order, then columns in reverse: the order in
// which MaxPoolGradient adds.
std::vector<float> MaxGradient(const Volume& v, const std::array<int64_t, 3>& y_size,
                               int64_t planes, const std::vector<float>& x,
                               const std::vector<float>& y, const std::vector<float>& dy) {
  std::vector<float> dx(x.size(), 0.f);
  const auto at = [](const std::array<int64_t, 3>& size, int64_t plane, int64_t d, int64_t h,
                     int64_t w) { return ((plane * size[0] + d) * size[1] + h) * size[2] + w; };
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t d = 0; d < y_size[0]; ++d) {
      for (int64_t h = 0; h < y_size[1]; ++h) {
        for (int64_t w = y_size[2] - 1; w >= 0; --w) {
          const int64_t window = at(y_size, plane, d, h, w);
          for (int64_t i = 0; i < v.kernel[0]; ++i) {
            for (int64_t j = 0; j < v.kernel[1]; ++j) {
              for (int64_t k = 0; k < v.kernel[2]; ++k) {
                const int64_t in_d = d * v.stride[0] - v.pad_begin[0] + i;
                const int64_t in_h = h * v.stride[1] - v.pad_begin[1] + j;
                const int64_t in_w = w * v.stride[2] - v.pad_begin[2] + k;
                if (in_d < 0 || in_h < 0 || in_w < 0) continue;
                if (in_d >= v.x[0] || in_h >= v.x[1] || in_w >= v.x[2]) continue;
                const int64_t element = at(v.x, plane, in_d, in_h, in_w);
                if (x[element] == y[window]) dx[element] += dy[window];
              }
            }
          }
        }
      }
    }
  }
  return dx;
}

TEST(Pool, MaxGradientAddsInTheOrderOfTheWindows) {
  constexpr int64_t kPlanes = 6;
  std::vector<Volume> volumes;
  for (const int64_t width : {2, 7, 8, 9, 15, 16, 17, 24, 33, 70}) {
    for (const int64_t kernel : {1, 2, 3, 4, 5, 7}) {
      for (const int64_t stride : {1, 2, 3, 5}) {
        for (const int64_t pad : {int64_t{0}, kernel / 2}) {
          if (kernel > width) continue;
          const int64_t height = 3 + (width + kernel) % 19;
          volumes.push_back({{1, height, width},
                             {1, std::min<int64_t>(3, kernel), kernel},
                             {1, 1 + stride % 4, stride},
                             {0, std::min<int64_t>(1, pad), pad},
                             {0, 0, pad / 2}});
        }
      }
    }
  }
  volumes.push_back({{5, 6, 18}, {2, 3, 3}, {2, 2, 2}, {1, 1, 1}, {0, 1, 0}});
  volumes.push_back({{6, 5, 9}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
  volumes.push_back({{7, 3, 10}, {1, 2, 2}, {3, 1, 2}, {0, 0, 0}, {0, 0, 0}});  // gaps of depth
  volumes.push_back({{1, 200, 300}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {0, 1, 1}});
  volumes.push_back({{1, 40, 40}, {1, 3, 39}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  for (const Volume& v : volumes) {
    std::vector<int> kernels, strides, pads;
    std::array<int64_t, 3> y_size;
    for (int i = 0; i < 3; ++i) {
      kernels.push_back(static_cast<int>(v.kernel[i]));
      strides.push_back(static_cast<int>(v.stride[i]));
      pads.push_back(static_cast<int>(v.pad_begin[i]));
      y_size[i] = (v.x[i] + v.pad_begin[i] + v.pad_end[i] - v.kernel[i]) / v.stride[i] + 1;
    }
    for (const int64_t pad : v.pad_end) pads.push_back(static_cast<int>(pad));
    const std::vector<Argument> args = {MakeArgument("kernels", kernels),
                                        MakeArgument("strides", strides),
                                        MakeArgument("pads", pads)};
    // Many ties, and some values that are not finite.
    std::vector<float> x;
    for (int64_t i = 0; i < kPlanes * v.x[0] * v.x[1] * v.x[2]; ++i) {
      x.push_back(static_cast<float>(i * i % 23 % 5) - 2.f);
      if (i % 61 == 7) x.back() = NAN;
      if (i % 67 == 9) x.back() = INFINITY;
      if (i % 5 == 1) x.back() = -INFINITY;
    }
    std::vector<float> dy = Rounded(RandomValues(kPlanes * y_size[0] * y_size[1] * y_size[2], 5));
    dy[dy.size() / 3] = -0.f;
    dy[dy.size() / 2] = INFINITY;
    Workspace ws;
    for (const bool narrow : {false, true}) {
      const std::vector<int64_t> x_dims = {2, 3, v.x[0], v.x[1], v.x[2]};
      const std::vector<int64_t> y_dims = {2, 3, y_size[0], y_size[1], y_size[2]};
      if (narrow) {
        Feed(&ws, "X", x_dims, ToBFloat16(x));
        Feed(&ws, "dY", y_dims, ToBFloat16(dy));
      } else {
        Feed(&ws, "X", x_dims, x);
        Feed(&ws, "dY", y_dims, dy);
      }
      RunOp(&ws, Op("MaxPool", {"X"}, {"Y"}, args));
      RunOp(&ws, Op("MaxPoolGradient", {"X", "Y", "dY"}, {"dX"}, args));
      if (narrow) {
        WidenBlob(&ws, "Y");
        WidenBlob(&ws, "dX");
      }
      std::vector<float> expected =
          MaxGradient(v, y_size, kPlanes, x, FetchValues<float>(ws, "Y"), dy);
      if (narrow) expected = Rounded(expected);
      const std::vector<float> dx = FetchValues<float>(ws, "dX");
      ASSERT_EQ(dx.size(), expected.size());
      for (size_t i = 0; i < dx.size(); ++i) {
        if (std::isnan(expected[i]) && std::isnan(dx[i])) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(dx[i]), std::bit_cast<uint32_t>(expected[i]))
            << "element " << i << " of width " << v.x[2] << ", kernel " << v.kernel[2]
            << ", stride " << v.stride[2] << ", pad " << v.pad_begin[2];
      }
    }
  }
}

TEST(Pool, NoChannels) {
  for (const char* order : {"NCHW", "NHWC"}) {
    Workspace ws;
    const bool last = std::string(order) == "NHWC";
    Feed(&ws, "X", {1, last ? 4 : 0, 4, last ? 0 : 4}, std::vector<float>());
    const std::vector<Argument> args = {MakeArgument<int>("kernel", 2),
                                        MakeArgument<std::string>("order", order)};
    for (const std::string type : {"MaxPool", "AveragePool"}) {
      RunOp(&ws, Op(type, {"X"}, {"Y"}, args));
      ExpectTensor(ws, "Y", {1, last ? 3 : 0, 3, last ? 0 : 3}, {});
      RunOp(&ws, Op(type + "Gradient", {"X", "Y", "Y"}, {"dX"}, args));
      ExpectTensor(ws, "dX", {1, last ? 4 : 0, 4, last ? 0 : 4}, {});
    }
  }
}

TEST(Pool, EmptyBatch) {
  Workspace ws;
  Feed(&ws, "X", {0, 2, 4, 4}, std::vector<float>());
  const std::vector<Argument> args = {MakeArgument<int>("kernel", 2)};
  RunOp(&ws, Op("MaxPool", {"X"}, {"Y"}, args));
  ExpectTensor(ws, "Y", {0, 2, 3, 3}, {});
  RunOp(&ws, Op("MaxPoolGradient", {"X", "Y", "Y"}, {"dX"}, args));
  ExpectTensor(ws, "dX", {0, 2, 4, 4}, {});
}

TEST(Pool, RefusesWhatCannotWork) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 1, 3, 3}, 1);
  const auto pool = [](const std::vector<Argument>& args) {
    return Op("MaxPool", {"X"}, {"Y"}, args);
  };
  const auto arg = [](const char* name, int value) { return MakeArgument<int>(name, value); };
  ExpectThrows(&ws, pool({}), "kernel");
  ExpectThrows(&ws, pool({arg("kernel", 0)}),
               "argument kernel must be from 1 to 2147483647, found 0");
  ExpectThrows(&ws, pool({arg("kernel", 4)}), "smaller than");
  ExpectThrows(&ws, pool({arg("kernel", 2), arg("pad", 2)}), "not less than the kernel");
  ExpectThrows(&ws, pool({arg("kernel", 2), arg("pad_b", 2)}),
               "the pad of axis 0 is 2, which is not less than the kernel 2");
  ExpectThrows(&ws, pool({arg("kernel", 2), arg("dilation", 2)}), "dilation");
  ExpectThrows(&ws, pool({arg("global_pooling", 1), arg("stride", 2)}), "global_pooling");
  ExpectThrows(&ws, pool({arg("kernel", 1), arg("stride", 3), arg("legacy_pad", 3)}),
               "the last window begins past the end");
  ExpectThrows(&ws, pool({arg("kernel", 1), arg("legacy_pad", 4)}),
               "argument legacy_pad must be from 0 to 3, found 4");
  FeedRandom(&ws, "V", {4, 2}, 1);
  ExpectThrows(&ws, Op("MaxPool", {"V"}, {"Y"}, {arg("kernel", 1)}), "spatial axes");
  Feed<float>(&ws, "scalar", {}, {1});
  for (const char* type : {"MaxPool", "AveragePool", "LpPool"}) {
    ExpectThrows(&ws, Op(type, {"scalar"}, {"Y"}, {arg("kernel", 1)}), "at least two axes");
  }
  Feed(&ws, "E", {1, 2, 0, 3}, std::vector<float>());
  ExpectThrows(&ws, Op("MaxPool", {"E"}, {"Y"}, {arg("kernel", 1)}),
               "spatial axis 0 of the input must have from 1 to 2147483647 elements, found 0");
  ExpectThrows(&ws, Op("MaxPoolGradient", {"X", "X", "X"}, {"dX"}, {arg("kernel", 2)}),
               "Y and dY must have shape [1, 1, 2, 2], found [1, 1, 3, 3] and [1, 1, 3, 3]");
}

// The gradient in NHWC with rows so long that it goes pixel by pixel equals the one in NCHW. Values
// repeat, so that several taps of a window are the largest; channels end within a block of 16.
TEST(Pool, GradientOfLongRowsOfPixelsEqualsPlanes) {
  const std::vector<int64_t> dims = {2, 1001, 5, 7}, y_dims = {2, 1001, 3, 4};
  for (const int type : {TensorProto::FLOAT, TensorProto::BFLOAT16}) {
    std::vector<float> dx[2];
    for (const bool nhwc : {false, true}) {
      Workspace ws;
      std::vector<float> x = RandomValues(CheckedNumel(dims), 1, 0.f, 8.f);
      for (float& value : x) value = std::floor(value);
      FeedImage(&ws, "x", dims, x, nhwc);
      FeedImage(&ws, "dy", y_dims, RandomValues(CheckedNumel(y_dims), 2), nhwc);
      const std::vector<Argument> args = {
          MakeArgument<int>("kernel", 3), MakeArgument<int>("stride", 2),
          MakeArgument<int>("pad", 1), MakeArgument<std::string>("order", OrderName(nhwc))};
      for (const auto& [from, to] : {std::pair("x", "X"), std::pair("dy", "dY")}) {
        RunOp(&ws, Op("Cast", {from}, {to}, {MakeArgument<int>("to", type)}));
      }
      RunOp(&ws, Op("MaxPool", {"X"}, {"Y"}, args));
      RunOp(&ws, Op("MaxPoolGradient", {"X", "Y", "dY"}, {"dX"}, args));
      RunOp(&ws, Op("Cast", {"dX"}, {"dx"}, {MakeArgument<int>("to", TensorProto::FLOAT)}));
      if (nhwc) RunOp(&ws, Op("NHWC2NCHW", {"dx"}, {"planes"}));
      dx[nhwc] = FetchValues<float>(ws, nhwc ? "planes" : "dx");
    }
    ASSERT_EQ(dx[0].size(), dx[1].size());
    for (size_t i = 0; i < dx[0].size(); ++i) {
      const float tolerance = type == TensorProto::FLOAT ? 1e-6f : 8e-3f;
      ASSERT_NEAR(dx[0][i], dx[1][i], tolerance * (1 + std::abs(dx[0][i]))) << type << " at " << i;
    }
  }
}

}  // namespace
}  // namespace caffe2::testing
