// PadImage and ResizeNearest.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::vector<Argument> InOrder(bool nhwc, std::vector<Argument> args) {
  args.push_back(MakeArgument<std::string>("order", OrderName(nhwc)));
  return args;
}

class PixelMapTest : public ::testing::TestWithParam<bool> {
 protected:
  const bool nhwc_ = GetParam();
  Workspace ws_;
};

TEST_P(PixelMapTest, PadImage) {
  const std::vector<int64_t> dims = {1, 2, 2, 3}, padded = {1, 2, 4, 5};
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6};
  const auto check = [&](const std::string& mode, const std::vector<float>& first_channel) {
    std::vector<float> expected = first_channel;
    for (float value : first_channel)
      expected.push_back(mode == "constant" && value == 9 ? 9 : -value);
    const std::vector<Argument> args =
        InOrder(nhwc_, {MakeArgument<int>("pad", 1), MakeArgument<std::string>("mode", mode),
                        MakeArgument<float>("value", 9.f)});
    FeedImage(&ws_, "X", dims, x, nhwc_);  // the gradient check moves it
    RunOp(&ws_, Op("PadImage", {"X"}, {"Y"}, args));
    ExpectImage(ws_, "Y", padded, expected, nhwc_, 0.f, 0.f);
    CheckGradient(&ws_, Op("PadImage", {"X"}, {"Y"}, args), {0});
  };
  check("constant", {9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9});
  check("reflect", {5, 4, 5, 6, 5, 2, 1, 2, 3, 2, 5, 4, 5, 6, 5, 2, 1, 2, 3, 2});
  check("edge", {1, 1, 2, 3, 3, 1, 1, 2, 3, 3, 4, 4, 5, 6, 6, 4, 4, 5, 6, 6});
}

TEST_P(PixelMapTest, PadImageSides) {
  FeedImage(&ws_, "X", {1, 1, 1, 2}, std::vector<float>{1, 2}, nhwc_);
  const std::vector<Argument> args =
      InOrder(nhwc_, {MakeArgument<int>("pad_t", 1), MakeArgument<int>("pad_l", 2)});
  RunOp(&ws_, Op("PadImage", {"X"}, {"Y"}, args));
  ExpectImage(ws_, "Y", {1, 1, 2, 4}, {0, 0, 0, 0, 0, 0, 1, 2}, nhwc_);
  CheckGradient(&ws_, Op("PadImage", {"X"}, {"Y"}, args), {0});
}

TEST_P(PixelMapTest, NegativePadsCrop) {
  FeedImage(&ws_, "X", {1, 1, 3, 4}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
            nhwc_);
  for (const char* mode : {"constant", "reflect", "edge"}) {
    const std::vector<Argument> args =
        InOrder(nhwc_, {MakeArgument<int>("pad_t", -1), MakeArgument<int>("pad_l", -2),
                        MakeArgument<int>("pad_r", 1), MakeArgument<std::string>("mode", mode)});
    RunOp(&ws_, Op("PadImage", {"X"}, {"Y"}, args));
    const float outside[2] = {mode[0] == 'c'   ? 0.f
                              : mode[0] == 'r' ? 7.f
                                               : 8.f,
                              mode[0] == 'c'   ? 0.f
                              : mode[0] == 'r' ? 11.f
                                               : 12.f};
    ExpectImage(ws_, "Y", {1, 1, 2, 3}, {7, 8, outside[0], 11, 12, outside[1]}, nhwc_, 0.f, 0.f);
    CheckGradient(&ws_, Op("PadImage", {"X"}, {"Y"}, args), {0});
    FeedImage(&ws_, "X", {1, 1, 3, 4}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
              nhwc_);
  }
}

TEST_P(PixelMapTest, ScalesMayBeAnInput) {
  const std::vector<int64_t> dims = {2, 3, 4, 3};
  FeedImage(&ws_, "X", dims, RandomValues(CheckedNumel(dims), 1), nhwc_);
  Feed<float>(&ws_, "scales", {2}, {1.6f, 0.7f});
  RunOp(&ws_, Op("ResizeNearest", {"X"}, {"Y"},
                 InOrder(nhwc_,
                         {MakeArgument("height_scale", 1.6f), MakeArgument("width_scale", 0.7f)})));
  RunOp(&ws_, Op("ResizeNearest", {"X", "scales"}, {"Z"}, InOrder(nhwc_, {})), true);
  ExpectTensor(ws_, "Z", Fetch(ws_, "Y").sizes(), FetchValues<float>(ws_, "Y"), 0.f, 0.f);
  CheckGradient(&ws_, Op("ResizeNearest", {"X", "scales"}, {"Y"}, InOrder(nhwc_, {})), {0});
}

TEST_P(PixelMapTest, ResizeNearest) {
  const std::vector<int64_t> dims = {2, 3, 4, 3};
  const std::vector<float> x = RandomValues(CheckedNumel(dims), 1);
  for (const auto& [height_scale, width_scale] :
       std::vector<std::pair<float, float>>{{2.f, 3.f}, {1.6f, 0.7f}, {1.f, 1.f}}) {
    const std::vector<Argument> args =
        InOrder(nhwc_, {MakeArgument<float>("height_scale", height_scale),
                        MakeArgument<float>("width_scale", width_scale)});
    const auto height = static_cast<int64_t>(4 * height_scale),
               width = static_cast<int64_t>(3 * width_scale);
    std::vector<float> y;
    for (int64_t plane = 0; plane < 6; ++plane) {
      for (int64_t h = 0; h < height; ++h) {
        for (int64_t w = 0; w < width; ++w) {
          const auto from_h = std::min<int64_t>(3, std::floor(h / height_scale));
          const auto from_w = std::min<int64_t>(2, std::floor(w / width_scale));
          y.push_back(x[(plane * 4 + from_h) * 3 + from_w]);
        }
      }
    }
    FeedImage(&ws_, "X", dims, x, nhwc_);  // the gradient check moves it
    RunOp(&ws_, Op("ResizeNearest", {"X"}, {"Y"}, args));
    ExpectImage(ws_, "Y", {2, 3, height, width}, y, nhwc_, 0.f, 0.f);
    CheckGradient(&ws_, Op("ResizeNearest", {"X"}, {"Y"}, args), {0});
  }
}

TEST_P(PixelMapTest, BFloat16) {
  const std::vector<float> x = {1, 2, 3, 4};
  FeedImage(&ws_, "X", {1, 1, 2, 2}, ToBFloat16(x), nhwc_);
  const std::vector<Argument> args =
      InOrder(nhwc_, {MakeArgument<int>("pad", 1), MakeArgument<std::string>("mode", "edge")});
  RunOp(&ws_, Op("PadImage", {"X"}, {"Y"}, args));
  RunOp(&ws_, Op("PadImageGradient", {"Y"}, {"dX"}, args));
  WidenBlob(&ws_, "dX");
  ExpectImage(ws_, "dX", {1, 1, 2, 2}, {4, 8, 12, 16}, nhwc_, 0.f, 0.f);
}

INSTANTIATE_TEST_SUITE_P(All, PixelMapTest, ::testing::Bool(),
                         [](const auto& info) { return OrderName(info.param); });

TEST(PixelMap, RefusesWhatCannotWork) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 1, 2, 2}, 1);
  const auto pad = [](int size, const std::string& mode) {
    return Op("PadImage", {"X"}, {"Y"},
              {MakeArgument<int>("pad", size), MakeArgument<std::string>("mode", mode)});
  };
  ExpectThrows(&ws, pad(2, "reflect"), "reflect more");
  ExpectThrows(&ws, pad(-2, "constant"), "pads -2 and -2");
  ExpectThrows(&ws, pad(1, "mirror"), "mirror");
  ExpectThrows(&ws, Op("PadImageGradient", {"X"}, {"dX"}, {MakeArgument<int>("pad", 2)}),
               "smaller than the pads");
  const auto resize = [](float scale) {
    return Op("ResizeNearest", {"X"}, {"Y"}, {MakeArgument<float>("width_scale", scale)});
  };
  ExpectThrows(&ws, resize(0.f), "width_scale (0) must be positive");
  ExpectThrows(&ws, resize(-1.f), "width_scale (-1) must be positive");
  ExpectThrows(&ws, resize(NAN), "width_scale (nan) must be positive");
  ExpectThrows(&ws, resize(1e30f), "width_scale (1e+30) is too large");
  FeedRandom(&ws, "V", {2, 2, 2}, 1);
  ExpectThrows(&ws, Op("ResizeNearest", {"V"}, {"Y"}), "spatial axes");
  ExpectThrows(&ws, Op("ResizeNearest", {"X", "X"}, {"Y"}), "scales [1, 1, 2, 2]");
}

}  // namespace
}  // namespace caffe2::testing
