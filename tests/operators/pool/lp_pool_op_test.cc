#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(LpPoolTest, IsTheNormOfEveryWindow) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 5, 6}, 7, -1, 1, 0.1f);
  const auto x = FetchValues<float>(ws, "X");
  for (const float p : {1.f, 2.f, 3.5f}) {
    std::vector<float> expected;
    for (int plane = 0; plane < 6; ++plane) {
      for (int h = 0; h < 3; ++h) {
        for (int w = 0; w < 3; ++w) {
          double sum = 0;
          for (int i = std::max(0, 2 * h - 1); i < std::min(5, 2 * h + 2); ++i) {
            for (int j = std::max(0, 2 * w - 1); j < std::min(6, 2 * w + 2); ++j) {
              sum += std::pow(std::fabs(double{x[(plane * 5 + i) * 6 + j]}), p);
            }
          }
          expected.push_back(static_cast<float>(std::pow(sum, 1 / p)));
        }
      }
    }
    const std::vector<Argument> args{MakeArgument("kernel", 3), MakeArgument("stride", 2),
                                     MakeArgument("pad", 1), MakeArgument("p", p)};
    RunOp(&ws, Op("LpPool", {"X"}, {"Y"}, args));
    ExpectTensor(ws, "Y", {2, 3, 3, 3}, expected, 1e-4f);
    CheckGradient(&ws, Op("LpPool", {"X"}, {"Y"}, args), {0});
    std::vector<Argument> nhwc = args;
    nhwc.push_back(MakeArgument<std::string>("order", "NHWC"));
    CheckGradient(&ws, Op("LpPool", {"X"}, {"Y"}, nhwc), {0});
  }
  Feed<float>(&ws, "X", {1, 1, 1, 1}, {0});  // the norm has no slope there
  RunOp(&ws, Op("LpPool", {"X"}, {"Y"}, {MakeArgument("kernel", 1)}));
  Feed<float>(&ws, "dY", {1, 1, 1, 1}, {1});
  RunOp(&ws, Op("LpPoolGradient", {"X", "Y", "dY"}, {"dX"}, {MakeArgument("kernel", 1)}));
  ExpectTensor(ws, "dX", {1, 1, 1, 1}, {0});
  ExpectThrows(&ws, Op("LpPool", {"X"}, {"Y"}, {MakeArgument("kernel", 1), MakeArgument("p", 0.f)}),
               "argument p");
}

}  // namespace
}  // namespace caffe2::testing
