// What object detection nets need: boxes moved, suppressed and distributed; RoIAlign;
// AffineChannel, BatchPermutation, UpsampleNearest.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

TEST(BBoxTransformTest, MovesAndScalesBoxes) {
  Workspace ws;
  // A box of 10 x 20 pixels in an image of 50 x 60, scaled by 2; two classes.
  Feed<float>(&ws, "rois", {1, 4}, {20, 40, 38, 78});
  Feed<float>(&ws, "info", {1, 3}, {100, 120, 2});
  Feed<float>(&ws, "deltas", {1, 8},
              {0.1f, -0.1f, 0, 0, 0, 0, std::log(2.f), 10});  // the last one is limited
  const auto box = [&ws](const std::vector<Argument>& args) {
    RunOp(&ws, Op("BBoxTransform", {"rois", "deltas", "info"}, {"Y", "splits"}, args));
    return FetchValues<float>(ws, "Y");
  };
  // The box is 10..19 x 20..39: centre (15, 30), moved by (1, -2); not one pixel less at the end.
  const auto plain = box({MakeArgument("apply_scale", 0)});
  EXPECT_EQ(Floats(plain.begin(), plain.begin() + 4), (Floats{11, 18, 21, 38}));
  EXPECT_EQ(FetchValues<float>(ws, "splits"), Floats{1});
  // Twice as wide, and as high as the image.
  EXPECT_NEAR(plain[4], 5, 1e-4);
  EXPECT_EQ(plain[5], 0);
  EXPECT_NEAR(plain[6], 25, 1e-4);
  EXPECT_EQ(plain[7], 49);
  const auto correct =
      box({MakeArgument("apply_scale", 0), MakeArgument("correct_transform_coords", 1)});
  EXPECT_EQ(Floats(correct.begin(), correct.begin() + 4), (Floats{11, 18, 20, 37}));
  const auto scaled = box({MakeArgument("weights", Floats{10, 10, 5, 5})});
  EXPECT_NEAR(scaled[0], 2 * 10.1f, 1e-4);
  EXPECT_NEAR(scaled[1], 2 * 19.8f, 1e-4);
  // Boxes between points are 9 x 19: centre (14.5, 29.5).
  const auto points = box({MakeArgument("apply_scale", 0), MakeArgument("legacy_plus_one", 0)});
  EXPECT_NEAR(points[0], 10.9f, 1e-4);
  EXPECT_NEAR(points[2], 19.9f, 1e-4);
}

TEST(BBoxTransformTest, TellsImagesApartAndRejectsBadInput) {
  Workspace ws;
  Feed<float>(&ws, "rois", {3, 5}, {0, 0, 0, 9, 9, 1, 0, 0, 9, 9, 1, 5, 5, 9, 9});
  Feed<float>(&ws, "deltas", {3, 4}, Floats(12, 0.f));
  Feed<float>(&ws, "info", {2, 3}, {8, 8, 1, 20, 20, 1});
  const OperatorDef op = Op("BBoxTransform", {"rois", "deltas", "info"}, {"Y", "splits"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 4}, {0, 0, 7, 7, 0, 0, 10, 10, 5, 5, 10, 10});
  EXPECT_EQ(FetchValues<float>(ws, "splits"), (Floats{1, 2}));
  Feed<float>(&ws, "info", {1, 3}, {8, 8, 1});
  ExpectThrows(&ws, op, "image 1 of 1");
  Feed<float>(&ws, "info", {2, 3}, {8, 8, 0, 8, 8, 1});
  ExpectThrows(&ws, op, "scale of image 0");
  Feed<float>(&ws, "deltas", {3, 5}, Floats(15, 0.f));
  ExpectThrows(&ws, op, "M x 4K");
}

OperatorDef Proposals(const std::vector<Argument>& args) {
  return Op("GenerateProposals", {"scores", "deltas", "info", "anchors"}, {"rois", "probs"}, args);
}

TEST(GenerateProposalsTest, ShiftsAnchorsAndDropsOverlaps) {
  Workspace ws;
  // One row of three positions, 10 pixels apart; two anchors, 10 x 10 and 20 x 10.
  Feed<float>(&ws, "scores", {1, 2, 1, 3}, {0.9f, 0.8f, 0.7f, 0.95f, 0.1f, 0.2f});
  Feed<float>(&ws, "deltas", {1, 8, 1, 3}, Floats(24, 0.f));
  Feed<float>(&ws, "info", {1, 3}, {10, 30, 1});
  Feed<float>(&ws, "anchors", {2, 4}, {0, 0, 9, 9, 0, 0, 19, 9});
  std::vector<Argument> args{MakeArgument("spatial_scale", 0.1f), MakeArgument("min_size", 5.f),
                             MakeArgument("nms_thresh", 0.4f), MakeArgument("legacy_plus_one", 1)};
  RunOp(&ws, Proposals(args), true);
  // The large one at 0 covers half of the small ones at 0 and 10; the small one at 20 half of the
  // large one at 10, and all that the image leaves of that at 20.
  ExpectTensor(ws, "rois", {2, 5}, {0, 0, 0, 19, 9, 0, 20, 0, 29, 9});
  ExpectTensor(ws, "probs", {2}, {0.95f, 0.7f});
}

TEST(GenerateProposalsTest, LimitsNumbersAndSizes) {
  Workspace ws;
  FeedRandom(&ws, "scores", {2, 3, 4, 5}, 1);
  FeedRandom(&ws, "deltas", {2, 12, 4, 5}, 2, -0.5f, 0.5f);
  Feed<float>(&ws, "info", {2, 3}, {64, 80, 1, 32, 40, 2});
  Feed<float>(&ws, "anchors", {3, 4}, {-8, -8, 23, 23, 0, 0, 15, 15, -16, 0, 31, 15});
  RunOp(&ws, Proposals({MakeArgument("post_nms_topN", 4)}), true);
  const auto rois = FetchValues<float>(ws, "rois"), probs = FetchValues<float>(ws, "probs");
  ASSERT_EQ(Fetch(ws, "rois").sizes(), (std::vector<int64_t>{Fetch(ws, "probs").size(0), 5}));
  int count[2] = {0, 0};
  for (size_t i = 0; i < probs.size(); ++i) {
    const float* roi = rois.data() + 5 * i;
    const auto image = static_cast<int>(roi[0]);
    const float scale = image == 0 ? 1 : 2, height = image == 0 ? 64 : 32;
    ++count[image];
    EXPECT_GE(roi[1], 0);
    EXPECT_LE(roi[4], height - 1);
    EXPECT_GE(roi[3] - roi[1] + 1, 16 * scale);  // min_size counts before scaling
    if (i > 0 && rois[5 * (i - 1)] == roi[0]) {
      EXPECT_LE(probs[i], probs[i - 1]);
    }
  }
  EXPECT_EQ(count[0], 4);
  EXPECT_LE(count[1], 4);
  RunOp(&ws,
        Op("GenerateProposalsCPP", {"scores", "deltas", "info", "anchors"}, {"rois", "probs"},
           {MakeArgument("pre_nms_topN", 1), MakeArgument("min_size", 0.f)}),
        true);
  EXPECT_LE(Fetch(ws, "probs").numel(), 2);
}

TEST(GenerateProposalsTest, RejectsBadInput) {
  Workspace ws;
  Feed<float>(&ws, "scores", {1, 1, 1, 2}, {0.5f, NAN});
  Feed<float>(&ws, "deltas", {1, 4, 1, 2}, Floats(8, 0.f));
  Feed<float>(&ws, "info", {1, 3}, {10, 30, 1});
  Feed<float>(&ws, "anchors", {1, 4}, {0, 0, 9, 9});
  ExpectThrows(&ws, Proposals({}), "NaN");
  Feed<float>(&ws, "anchors", {2, 4}, Floats(8, 0.f));
  ExpectThrows(&ws, Proposals({}), "anchors");
  ExpectThrows(&ws, Proposals({MakeArgument("spatial_scale", 0.f)}), "spatial_scale");
}

// Three boxes, of which the first two overlap by 0.8; class 0 is the background.
void FeedDetections(Workspace* ws) {
  Feed<float>(ws, "scores", {3, 3}, {0.1f, 0.5f, 0.4f, 0, 0.9f, 0.01f, 0.3f, 0.6f, 0.1f});
  Floats boxes;
  const Floats rows[] = {{0, 0, 9, 9}, {0, 0, 9, 7}, {20, 20, 29, 29}};
  for (const Floats& row : rows) {
    for (int c = 0; c < 3; ++c) boxes.insert(boxes.end(), row.begin(), row.end());
  }
  Feed<float>(ws, "boxes", {3, 12}, boxes);
}
OperatorDef Limit(const std::vector<Argument>& args, int outputs = 6, bool splits = false) {
  std::vector<std::string> names{"s", "b", "c", "n", "k", "ks"};
  names.resize(outputs);
  std::vector<std::string> inputs{"scores", "boxes"};
  if (splits) inputs.push_back("splits");
  return Op("BoxWithNMSLimit", inputs, names, args);
}

TEST(BoxWithNMSLimitTest, SuppressesWithinClasses) {
  Workspace ws;
  FeedDetections(&ws);
  RunOp(&ws, Limit({}), true);
  ExpectTensor(ws, "s", {4}, {0.9f, 0.6f, 0.4f, 0.1f});
  ExpectTensor(ws, "c", {4}, {1, 1, 2, 2});
  ExpectTensor(ws, "b", {4, 4}, {0, 0, 9, 7, 20, 20, 29, 29, 0, 0, 9, 9, 20, 20, 29, 29});
  EXPECT_EQ(FetchValues<float>(ws, "n"), Floats{4});
  EXPECT_EQ(FetchValues<int>(ws, "k"), (Ints{1, 2, 0, 2}));
  EXPECT_EQ(FetchValues<int>(ws, "ks"), (Ints{0, 2, 2}));
  // The best two of all classes; classes without the background.
  RunOp(&ws,
        Limit({MakeArgument("detections_per_im", 2),
               MakeArgument("output_classes_include_bg_cls", 0)}),
        true);
  ExpectTensor(ws, "s", {2}, {0.9f, 0.6f});
  ExpectTensor(ws, "c", {2}, {0, 0});
  // Two images: nothing overlaps between them.
  Feed<float>(&ws, "splits", {2}, {1, 2});
  RunOp(&ws, Limit({}, 6, true), true);
  ExpectTensor(ws, "s", {5}, {0.5f, 0.4f, 0.9f, 0.6f, 0.1f});
  EXPECT_EQ(FetchValues<float>(ws, "n"), (Floats{2, 3}));
  EXPECT_EQ(FetchValues<int>(ws, "k"), (Ints{0, 0, 0, 1, 1}));
}

TEST(BoxWithNMSLimitTest, LowersScoresSoftly) {
  Workspace ws;
  FeedDetections(&ws);
  const std::vector<Argument> linear{MakeArgument("soft_nms_enabled", 1),
                                     MakeArgument("score_thresh", 0.05f)};
  RunOp(&ws, Limit(linear, 3), true);
  // 0.5 becomes 0.5 * (1 - 0.8).
  ExpectTensor(ws, "s", {5}, {0.9f, 0.6f, 0.1f, 0.4f, 0.1f});
  std::vector<Argument> gaussian = linear;
  gaussian.push_back(MakeArgument<std::string>("soft_nms_method", "gaussian"));
  RunOp(&ws, Limit(gaussian, 3), true);
  ExpectTensor(ws, "s", {5}, {0.9f, 0.6f, 0.5f * std::exp(-0.64f / 0.5f), 0.4f, 0.1f});
}

TEST(BoxWithNMSLimitTest, OneBoxForAllClassesAndBadInput) {
  Workspace ws;
  FeedDetections(&ws);
  Feed<float>(&ws, "boxes", {3, 4}, {0, 0, 9, 9, 0, 0, 9, 7, 20, 20, 29, 29});
  RunOp(&ws, Limit({MakeArgument("cls_agnostic_bbox_reg", 1)}, 3), true);
  ExpectTensor(ws, "c", {4}, {1, 1, 2, 2});
  ExpectThrows(&ws, Limit({}), "N x 12");
  ExpectThrows(&ws, Limit({}, 5), "not 5");
  Feed<float>(&ws, "splits", {2}, {1, 1});
  ExpectThrows(&ws, Limit({MakeArgument("cls_agnostic_bbox_reg", 1)}, 3, true), "batch_splits");
  ExpectThrows(&ws, Limit({MakeArgument<std::string>("soft_nms_method", "hard")}), "hard");
}

TEST(CollectAndDistributeTest, GivesProposalsToLevelsBySize) {
  Workspace ws;
  // Sides of 448, 224, 56 and 8 pixels: levels 5, 4, 2 and (below the least) 2.
  Feed<float>(&ws, "r2", {3, 5}, {0, 0, 0, 7, 7, 0, 0, 0, 447, 447, 1, 0, 0, 55, 55});
  Feed<float>(&ws, "p2", {3}, {0.2f, 0.5f, 0.9f});
  Feed<float>(&ws, "r3", {2, 5}, {1, 0, 0, 223, 223, 0, 1, 1, 2, 2});
  Feed<float>(&ws, "p3", {2}, {0.7f, 0.1f});
  const std::vector<Argument> args{MakeArgument("rpn_max_level", 3),
                                   MakeArgument("rpn_post_nms_topN", 4)};
  const std::vector<std::string> outputs{"rois", "l2", "l3", "l4", "l5", "restore"};
  const OperatorDef op =
      Op("CollectAndDistributeFpnRpnProposals", {"r2", "r3", "p2", "p3"}, outputs, args);
  RunOp(&ws, op, true);
  ExpectTensor(ws, "rois", {4, 5},
               {1, 0, 0, 55, 55, 1, 0, 0, 223, 223, 0, 0, 0, 447, 447, 0, 0, 0, 7, 7});
  ExpectTensor(ws, "l2", {2, 5}, {1, 0, 0, 55, 55, 0, 0, 0, 7, 7});
  EXPECT_EQ(Fetch(ws, "l3").sizes(), (std::vector<int64_t>{0, 5}));
  ExpectTensor(ws, "l4", {1, 5}, {1, 0, 0, 223, 223});
  ExpectTensor(ws, "l5", {1, 5}, {0, 0, 0, 447, 447});
  EXPECT_EQ(FetchValues<int>(ws, "restore"), (Ints{0, 2, 3, 1}));
  // The halves do the same.
  RunOp(&ws, Op("CollectRpnProposals", {"r2", "r3", "p2", "p3"}, {"best"}, args), true);
  EXPECT_EQ(FetchValues<float>(ws, "best"), FetchValues<float>(ws, "rois"));
  const std::vector<std::string> parts{"m2", "m3", "m4", "m5", "back"};
  RunOp(&ws, Op("DistributeFpnProposals", {"best"}, parts), true);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(FetchValues<float>(ws, parts[i]), FetchValues<float>(ws, outputs[i + 1]));
  }
  EXPECT_EQ(FetchValues<int>(ws, "back"), FetchValues<int>(ws, "restore"));
  ExpectThrows(&ws, Op("DistributeFpnProposals", {"best"}, {"m2", "back"}), "each RoI level");
  ExpectThrows(&ws, Op("DistributeFpnProposals", {"p2"}, parts), "must be n x 5");
  Feed<float>(&ws, "p3", {1}, {0.7f});
  ExpectThrows(&ws, op, "one for each roi");
  ExpectThrows(&ws, Op(op.type(), {"r2", "p2"}, outputs, args), "two for each RPN level");
}

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

TEST(RoIAlignTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 3, 5, 6}, 4);
  const OperatorDef op = Op("RoIAlign", {"X", "R"}, {"Y"});
  Feed<float>(&ws, "R", {1, 5}, {1, 0, 0, 2, 2});
  ExpectThrows(&ws, op, "image 1 of 1");
  Feed<float>(&ws, "R", {1, 5}, {0, 0, 0, NAN, 2});
  ExpectThrows(&ws, op, "corner at nan");
  Feed<float>(&ws, "R", {1, 5}, {0, -9e6f, -9e6f, 9e6f, 9e6f});
  ExpectThrows(&ws, op, "region 0 has too many samples");
  Feed<float>(&ws, "R", {1, 3}, {0, 0, 0});
  ExpectThrows(&ws, op, "R x 5");
}

TEST(AffineChannelTest, ScalesChannels) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4, 5}, 1);
  FeedRandom(&ws, "scale", {3}, 2);
  FeedRandom(&ws, "bias", {3}, 3);
  const auto x = FetchValues<float>(ws, "X"), scale = FetchValues<float>(ws, "scale"),
             bias = FetchValues<float>(ws, "bias");
  Floats expected;
  for (size_t i = 0; i < x.size(); ++i) {
    expected.push_back(x[i] * scale[i / 20 % 3] + bias[i / 20 % 3]);
  }
  const auto learned = MakeArgument("is_learnable", 1);
  RunOp(&ws, Op("AffineChannel", {"X", "scale", "bias"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3, 4, 5}, expected);
  CheckGradient(&ws, Op("AffineChannel", {"X", "scale", "bias"}, {"Y"}), {0});
  CheckGradient(&ws, Op("AffineChannel", {"X", "scale", "bias"}, {"Y"}, {learned}), {0, 1, 2});
  const auto nhwc = MakeArgument<std::string>("order", "NHWC");
  RunOp(&ws, Op("NCHW2NHWC", {"X"}, {"Xt"}));
  CheckGradient(&ws, Op("AffineChannel", {"Xt", "scale", "bias"}, {"Y"}, {learned, nhwc}),
                {0, 1, 2});
  ExpectThrows(&ws, Op("AffineChannel", {"Xt", "scale", "bias"}, {"Y"}), "elements of scale");
}

TEST(BatchPermutationTest, ReordersRows) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1);
  Feed<int32_t>(&ws, "I", {3}, {2, 0, 1});
  const auto x = FetchValues<float>(ws, "X");
  const OperatorDef op = Op("BatchPermutation", {"X", "I"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {3, 2}, {x[4], x[5], x[0], x[1], x[2], x[3]}, 0, 0);
  CheckGradient(&ws, op, {0});
  Feed<int32_t>(&ws, "I", {3}, {2, 0, 2});
  ExpectThrows(&ws, op, "row 2 occurs twice");
  Feed<int32_t>(&ws, "I", {3}, {2, 0, 3});
  ExpectThrows(&ws, op, "out of range");
}

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

TEST(RMACRegionsTest, CoversImages) {
  Workspace ws;
  const auto scales = [](int n) { return MakeArgument("scales", n); };
  FeedRandom(&ws, "X", {2, 1, 4, 4}, 1);
  RunOp(&ws, Op("RMACRegions", {"X"}, {"R"}, {scales(2)}), true);
  // The whole image; then two by two squares of side 2 at 0 and 2, column by column.
  const Floats one{0, 0, 3, 3, 0, 0, 1, 1, 0, 2, 1, 3, 2, 0, 3, 1, 2, 2, 3, 3};
  Floats expected;
  for (int image = 0; image < 2; ++image) {
    for (int i = 0; i < 5; ++i) {
      expected.push_back(static_cast<float>(image));
      expected.insert(expected.end(), one.begin() + 4 * i, one.begin() + 4 * i + 4);
    }
  }
  ExpectTensor(ws, "R", {10, 5}, expected);
  // Steps of 3 / 1, 3 / 2, ... leave an overlap of 2 / 5, 7 / 10, ...: one square more.
  FeedRandom(&ws, "X", {1, 1, 5, 8}, 1);
  RunOp(&ws, Op("RMACRegions", {"X"}, {"R"}, {scales(1)}), true);
  ExpectTensor(ws, "R", {2, 5}, {0, 0, 0, 4, 4, 0, 3, 0, 7, 4});
  FeedRandom(&ws, "X", {1, 1, 8, 5}, 1);
  RunOp(&ws, Op("RMACRegions", {"X"}, {"R"}, {scales(1)}), true);
  ExpectTensor(ws, "R", {2, 5}, {0, 0, 0, 4, 4, 0, 0, 3, 4, 7});
  // A pixel has no squares of scale 2.
  FeedRandom(&ws, "X", {1, 1, 1, 1}, 1);
  RunOp(&ws, Op("RMACRegions", {"X"}, {"R"}, {scales(3)}), true);
  ExpectTensor(ws, "R", {1, 5}, {0, 0, 0, 0, 0});
  FeedRandom(&ws, "X", {1, 1, 0, 1}, 1);
  ExpectThrows(&ws, Op("RMACRegions", {"X"}, {"R"}), "batch of images");
}

}  // namespace
}  // namespace caffe2::testing
