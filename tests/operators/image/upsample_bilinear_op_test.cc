#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::vector<Argument> Scales(float height, float width) {
  return {MakeArgument("height_scale", height), MakeArgument("width_scale", width)};
}

TEST(UpsampleBilinearTest, MatchesReference) {
  const int64_t planes = 4, height = 3, width = 4;
  for (const auto& [height_scale, width_scale] :
       std::vector<std::pair<float, float>>{{2, 3}, {1.7f, 0.6f}, {1, 1}, {0.4f, 2}}) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, 2, height, width}, 1);
    const auto x = FetchValues<float>(ws, "X");
    const auto rows = static_cast<int64_t>(height * height_scale),
               columns = static_cast<int64_t>(width * width_scale);
    // The place of pixel i of n on an axis of `size`: corners on corners.
    const auto place = [](int64_t i, int64_t n, int64_t size) {
      return n > 1 ? static_cast<double>(i) * static_cast<double>(size - 1) /
                         static_cast<double>(n - 1)
                   : 0.;
    };
    std::vector<float> y;
    for (int64_t p = 0; p < planes; ++p) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          double sum = 0;  // a tent over each pixel
          for (int64_t k = 0; k < height * width; ++k) {
            const double down = std::abs(place(i, rows, height) - static_cast<double>(k / width)),
                         along =
                             std::abs(place(j, columns, width) - static_cast<double>(k % width));
            sum += x[p * height * width + k] * std::max(0., 1 - down) * std::max(0., 1 - along);
          }
          y.push_back(static_cast<float>(sum));
        }
      }
    }
    const OperatorDef op = Op("UpsampleBilinear", {"X"}, {"Y"}, Scales(height_scale, width_scale));
    RunOp(&ws, op);
    ExpectTensor(ws, "Y", {2, 2, rows, columns}, y, 1e-5f, 2e-6f);
    Feed<float>(&ws, "scales", {2}, {height_scale, width_scale});
    const OperatorDef by_input = Op("UpsampleBilinear", {"X", "scales"}, {"Z"});
    RunOp(&ws, by_input, true);
    ExpectTensor(ws, "Z", {2, 2, rows, columns}, FetchValues<float>(ws, "Y"), 0, 0);
    CheckGradient(&ws, op, {0});
    CheckGradient(&ws, by_input, {0});
  }
}

TEST(UpsampleBilinearTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 1, 2, 2}, 1);
  FeedRandom(&ws, "V", {2, 2}, 1);
  Feed<float>(&ws, "empty", {1, 1, 0, 2}, {});
  ExpectThrows(&ws, Op("UpsampleBilinear", {"V"}, {"Y"}), "four axes");
  ExpectThrows(
      &ws, Op("UpsampleBilinear", {"X", "X"}, {"Y"}),
      "scales must hold two numbers, height_scale and width_scale; found shape [1, 1, 2, 2]");
  ExpectThrows(&ws, Op("UpsampleBilinear", {"X"}, {"Y"}, Scales(0, 1)),
               "height_scale (0) must be positive");
  ExpectThrows(&ws, Op("UpsampleBilinear", {"X"}, {"Y"}, Scales(1, INFINITY)), "width_scale");
  ExpectThrows(&ws, Op("UpsampleBilinearGradient", {"V", "X"}, {"dX"}),
               "dY must have the shape of Y");
  RunOp(&ws, Op("UpsampleBilinear", {"empty"}, {"Y"}, Scales(2, 2)));
  ExpectTensor(ws, "Y", {1, 1, 0, 4}, {});
}

}  // namespace
}  // namespace caffe2::testing
