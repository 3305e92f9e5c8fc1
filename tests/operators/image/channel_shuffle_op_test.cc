#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ChannelShuffle, MovesChannels) {
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    const std::vector<int64_t> dims = {2, 6, 1, 2};
    std::vector<float> x, y;
    const int source[] = {0, 3, 1, 4, 2, 5};  // two groups of three
    for (int n = 0; n < 2; ++n) {
      for (int c = 0; c < 6; ++c) {
        for (int i = 0; i < 2; ++i) {
          x.push_back(static_cast<float>(100 * n + 10 * c + i));
          y.push_back(static_cast<float>(100 * n + 10 * source[c] + i));
        }
      }
    }
    FeedImage(&ws, "X", dims, x, nhwc);
    const std::vector<Argument> args = {MakeArgument<int>("group", 2),
                                        MakeArgument<std::string>("order", OrderName(nhwc))};
    RunOp(&ws, Op("ChannelShuffle", {"X"}, {"Y"}, args));
    ExpectImage(ws, "Y", dims, y, nhwc, 0.f, 0.f);
    CheckGradient(&ws, Op("ChannelShuffle", {"X"}, {"Y"}, args), {0});
    ExpectThrows(&ws, Op("ChannelShuffle", {"X"}, {"Y"}, {MakeArgument<int>("group", 0)}), "group");
    ExpectThrows(&ws, Op("ChannelShuffle", {"X"}, {"Y"}, {MakeArgument<int>("group", 4)}),
                 "channels are not a multiple of the argument group (4)");
  }
}

}  // namespace
}  // namespace caffe2::testing
