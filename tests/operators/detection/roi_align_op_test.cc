#include <algorithm>
#include <cmath>

#include "operators/detection/boxes.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// The average of bilinear samples, straight from the definition.
double AlignedCell(const Floats& x, int64_t h, int64_t w, const double* roi, double scale,
                   int64_t cell_row, int64_t cell_column, int64_t cells, int64_t ratio) {
  const double rh = std::max((roi[3] - roi[1]) * scale, 1.0) / static_cast<double>(cells);
  const double rw = std::max((roi[2] - roi[0]) * scale, 1.0) / static_cast<double>(cells);
  const int64_t gh = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(rh));
  const int64_t gw = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(rw));
  double sum = 0;
  for (int64_t i = 0; i < gh; ++i) {
    for (int64_t j = 0; j < gw; ++j) {
      double r = roi[1] * scale + (cell_row + (i + 0.5) / gh) * rh;
      double c = roi[0] * scale + (cell_column + (j + 0.5) / gw) * rw;
      if (r < -1 || r > h || c < -1 || c > w) continue;
      r = std::clamp(r, 0.0, h - 1.0);
      c = std::clamp(c, 0.0, w - 1.0);
      for (int64_t y = 0; y < h; ++y) {
        for (int64_t z = 0; z < w; ++z) {
          sum += std::max(0.0, 1 - std::fabs(r - y)) * std::max(0.0, 1 - std::fabs(c - z)) *
                 x[y * w + z];
        }
      }
    }
  }
  return sum / static_cast<double>(gh * gw);
}

TEST(RoIAlignTest, AveragesSamples) {
  constexpr int64_t kH = 6, kW = 7;
  Workspace ws;
  FeedRandom(&ws, "X", {2, 2, kH, kW}, 3);
  const Floats regions{1, 1, 2, 11, 9, 0, 0, 0, 4, 4, 0, -3, 8, 2, 15};
  Feed<float>(&ws, "R", {3, 5}, regions);
  const auto x = FetchValues<float>(ws, "X");
  for (const int64_t ratio : {0, 2}) {
    Floats expected;
    for (int r = 0; r < 3; ++r) {
      const double roi[] = {regions[5 * r + 1], regions[5 * r + 2], regions[5 * r + 3],
                            regions[5 * r + 4]};
      for (int c = 0; c < 2; ++c) {
        const auto first = x.begin() + static_cast<int64_t>(2 * regions[5 * r] + c) * kH * kW;
        const Floats plane(first, first + kH * kW);
        for (int cell = 0; cell < 9; ++cell) {
          expected.push_back(static_cast<float>(
              AlignedCell(plane, kH, kW, roi, 0.5, cell / 3, cell % 3, 3, ratio)));
        }
      }
    }
    RunOp(&ws, Op("RoIAlign", {"X", "R"}, {"Y"},
                  {MakeArgument("pooled_h", 3), MakeArgument("pooled_w", 3),
                   MakeArgument("spatial_scale", 0.5f),
                   MakeArgument("sampling_ratio", static_cast<int>(ratio))}));
    ExpectTensor(ws, "Y", {3, 2, 3, 3}, expected, 1e-4f, 1e-5f);
  }
}

TEST(RoIAlignTest, NhwcIsTheSameTransposed) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 3, 5, 6}, 4);
  Feed<float>(&ws, "R", {2, 4}, {0.5f, 1, 4, 4.5f, 2, 2, 2.2f, 2.1f});
  const std::vector<Argument> args{MakeArgument("pooled_h", 2), MakeArgument("pooled_w", 3),
                                   MakeArgument("aligned", 1)};
  RunOp(&ws, Op("NCHW2NHWC", {"X"}, {"Xt"}));
  RunOp(&ws, Op("RoIAlign", {"X", "R"}, {"Y"}, args));
  RunOp(&ws, Op("NCHW2NHWC", {"Y"}, {"expected"}));
  std::vector<Argument> nhwc = args;
  nhwc.push_back(MakeArgument<std::string>("order", "NHWC"));
  RunOp(&ws, Op("RoIAlign", {"Xt", "R"}, {"Yt"}, nhwc));
  ExpectTensor(ws, "Yt", {2, 2, 3, 3}, FetchValues<float>(ws, "expected"), 0, 0);
  CheckGradient(&ws, Op("RoIAlign", {"X", "R"}, {"Y"}, args), {0});
  CheckGradient(&ws, Op("RoIAlign", {"Xt", "R"}, {"Yt"}, nhwc), {0});
}

TEST(RoIAlignTest, ImagesWithoutPixelsGiveZeros) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2, 0, 8}, {});
  Feed<float>(&ws, "rois", {1, 5}, {0, 0, 0, 4, 4});
  RunOp(&ws, Op("RoIAlign", {"X", "rois"}, {"Y"},
                {MakeArgument("pooled_h", 2), MakeArgument("pooled_w", 3)}));
  ExpectTensor(ws, "Y", {1, 2, 2, 3}, std::vector<float>(12, 0.f));
}

TEST(RoIAlignTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 3, 5, 6}, 4);
  const OperatorDef op = Op("RoIAlign", {"X", "R"}, {"Y"});
  Feed<float>(&ws, "R", {1, 5}, {1, 0, 0, 2, 2});
  ExpectThrows(&ws, op, "in image 1, but there are 1 images");
  Feed<float>(&ws, "R", {1, 5}, {0, 0, 0, NAN, 2});
  ExpectThrows(&ws, op, "corner at nan");
  Feed<float>(&ws, "R", {1, 5}, {0, -9e6f, -9e6f, 9e6f, 9e6f});
  ExpectThrows(&ws, op, "region 0 has too many samples");
  Feed<float>(&ws, "R", {1, 3}, {0, 0, 0});
  ExpectThrows(&ws, op, "R x 5");
}

// One sample in the middle of each cell, from the definition.
TEST(RoIAlignRotatedTest, AveragesTurnedCells) {
  Workspace ws;
  const int64_t height = 9, width = 8;
  FeedRandom(&ws, "X", {2, 2, height, width}, 1);
  const Floats regions = {1, 4, 4, 4, 3, 30, 0, 3, 5, 2, 6, -75, 0, 1, 1, 6, 6, 200};
  Feed<float>(&ws, "R", {3, 6}, regions);
  const auto x = FetchValues<float>(ws, "X");
  Floats expected;
  for (int r = 0; r < 3; ++r) {
    const float* roi = &regions[6 * r];
    const double angle = roi[5] * M_PI / 180;
    for (int c = 0; c < 2; ++c) {
      for (int cell = 0; cell < 6; ++cell) {  // 2 x 3
        const double u = roi[3] * ((cell % 3 + 0.5) / 3 - 0.5);
        const double v = roi[4] * ((cell / 3 + 0.5) / 2 - 0.5);
        double column = roi[1] + u * std::cos(angle) + v * std::sin(angle);
        double row = roi[2] + v * std::cos(angle) - u * std::sin(angle);
        double sum = 0;
        if (row >= -1 && row <= height && column >= -1 && column <= width) {
          row = std::clamp(row, 0., height - 1.);
          column = std::clamp(column, 0., width - 1.);
          for (int64_t i = 0; i < height * width; ++i) {
            sum += x[((static_cast<int64_t>(roi[0]) * 2 + c) * height * width) + i] *
                   std::max(0., 1 - std::abs(row - static_cast<double>(i / width))) *
                   std::max(0., 1 - std::abs(column - static_cast<double>(i % width)));
          }
        }
        expected.push_back(static_cast<float>(sum));
      }
    }
  }
  const OperatorDef op = Op("RoIAlignRotated", {"X", "R"}, {"Y"},
                            {MakeArgument("pooled_h", 2), MakeArgument("pooled_w", 3),
                             MakeArgument("sampling_ratio", 1)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2, 2, 3}, expected, 1e-4f, 1e-5f);
  CheckGradient(&ws, op, {0});
}

TEST(RoIAlignRotatedTest, WithoutAnAngleIsRoIAlignAndRejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 3, 10, 12}, 1);
  Feed<float>(&ws, "corners", {2, 4}, {2, 1, 8, 7, 0, 0, 5, 3});
  Feed<float>(&ws, "centres", {2, 5}, {10, 8, 12, 12, 0, 5, 3, 10, 6, 0});
  for (const int aligned : {0, 1}) {
    const auto op = [aligned](const char* type, const char* regions, float scale) {
      return Op(type, {"X", regions}, {regions[1] == 'o' ? "Y" : "Z"},
                {MakeArgument("pooled_h", 3), MakeArgument("pooled_w", 2),
                 MakeArgument("spatial_scale", scale), MakeArgument("aligned", aligned)});
    };
    RunOp(&ws, op("RoIAlign", "corners", 1));
    RunOp(&ws, op("RoIAlignRotated", "centres", 0.5f));
    ExpectTensor(ws, "Z", Fetch(ws, "Y").sizes(), FetchValues<float>(ws, "Y"), 1e-4f, 1e-5f);
  }
  Feed<float>(&ws, "nan", {1, 5}, {1, 1, 1, 1, NAN});
  ExpectThrows(&ws, Op("RoIAlignRotated", {"X", "nan"}, {"Y"}), "rotated by");
  ExpectThrows(&ws, Op("RoIAlignRotated", {"X", "corners"}, {"Y"}), "R x 6");
  Feed<float>(&ws, "far", {1, 6}, {1, 1, 1, 1, 1, 0});
  ExpectThrows(&ws, Op("RoIAlignRotated", {"X", "far"}, {"Y"}),
               "in image 1, but there are 1 images");
}

}  // namespace
}  // namespace caffe2::testing
