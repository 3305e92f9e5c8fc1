#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/image/pixel_map_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class PadImageTest : public PixelMapTest {};

TEST_P(PadImageTest, PadImage) {
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

TEST_P(PadImageTest, PadImageSides) {
  FeedImage(&ws_, "X", {1, 1, 1, 2}, std::vector<float>{1, 2}, nhwc_);
  const std::vector<Argument> args =
      InOrder(nhwc_, {MakeArgument<int>("pad_t", 1), MakeArgument<int>("pad_l", 2)});
  RunOp(&ws_, Op("PadImage", {"X"}, {"Y"}, args));
  ExpectImage(ws_, "Y", {1, 1, 2, 4}, {0, 0, 0, 0, 0, 0, 1, 2}, nhwc_);
  CheckGradient(&ws_, Op("PadImage", {"X"}, {"Y"}, args), {0});
}

TEST_P(PadImageTest, NegativePadsCrop) {
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

TEST_P(PadImageTest, BFloat16) {
  const std::vector<float> x = {1, 2, 3, 4};
  FeedImage(&ws_, "X", {1, 1, 2, 2}, ToBFloat16(x), nhwc_);
  const std::vector<Argument> args =
      InOrder(nhwc_, {MakeArgument<int>("pad", 1), MakeArgument<std::string>("mode", "edge")});
  RunOp(&ws_, Op("PadImage", {"X"}, {"Y"}, args));
  RunOp(&ws_, Op("PadImageGradient", {"Y"}, {"dX"}, args));
  WidenBlob(&ws_, "dX");
  ExpectImage(ws_, "dX", {1, 1, 2, 2}, {4, 8, 12, 16}, nhwc_, 0.f, 0.f);
}

INSTANTIATE_TEST_SUITE_P(All, PadImageTest, ::testing::Bool(),
                         [](const auto& info) { return OrderName(info.param); });

}  // namespace
}  // namespace caffe2::testing
