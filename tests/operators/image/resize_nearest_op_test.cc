#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/image/pixel_map_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(UpsampleNearestTest, RepeatsPixels) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 1, 2, 2}, {1, 2, 3, 4});
  RunOp(&ws, Op("UpsampleNearest", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {1, 1, 4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}, 0, 0);
  FeedRandom(&ws, "X", {2, 3, 2, 2}, 1);
  const auto scale = MakeArgument("scale", 3);
  CheckGradient(&ws, Op("UpsampleNearest", {"X"}, {"Y"}, {scale}), {0});
  CheckGradient(
      &ws, Op("UpsampleNearest", {"X"}, {"Y"}, {scale, MakeArgument<std::string>("order", "NHWC")}),
      {0});
  ExpectThrows(&ws, Op("UpsampleNearest", {"X"}, {"Y"}, {MakeArgument("scale", 0)}), "scale");
}

class ResizeNearestTest : public PixelMapTest {};

TEST_P(ResizeNearestTest, ScalesMayBeAnInput) {
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

TEST_P(ResizeNearestTest, ResizeNearest) {
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

INSTANTIATE_TEST_SUITE_P(All, ResizeNearestTest, ::testing::Bool(),
                         [](const auto& info) { return OrderName(info.param); });

TEST(ResizeNearest, RefusesWhatCannotWork) {
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
  ExpectThrows(
      &ws, Op("ResizeNearest", {"X", "X"}, {"Y"}),
      "scales must hold two numbers, height_scale and width_scale; found shape [1, 1, 2, 2]");
}

}  // namespace
}  // namespace caffe2::testing
