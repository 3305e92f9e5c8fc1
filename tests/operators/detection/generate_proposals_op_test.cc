#include <cmath>

#include "operators/detection/boxes.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

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
  RunOp(&ws,
        Op("GenerateProposals", {"scores", "deltas", "info", "anchors"}, {"same", "same_probs"},
           {MakeArgument("pre_nms_topN", 1), MakeArgument("min_size", 0.f)}),
        true);
  EXPECT_EQ(FetchValues<float>(ws, "rois"), FetchValues<float>(ws, "same"));
  EXPECT_EQ(FetchValues<float>(ws, "probs"), FetchValues<float>(ws, "same_probs"));
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

TEST(RotatedBoxTest, GenerateProposalsDropsOverlapsOfTurnedBoxes) {
  Workspace ws;
  // Two positions, 10 pixels apart, and two anchors: both 20 x 2, one turned upright.
  Feed<float>(&ws, "scores", {1, 2, 1, 2}, {0.9f, 0.8f, 0.7f, 0.6f});
  Feed<float>(&ws, "deltas", {1, 10, 1, 2}, Floats(20, 0.f));
  Feed<float>(&ws, "info", {1, 3}, {60, 60, 1});
  Feed<float>(&ws, "anchors", {2, 5}, {20, 30, 20, 2, 0, 20, 30, 20, 2, 90});
  const OperatorDef op =
      Op("GenerateProposals", {"scores", "deltas", "info", "anchors"}, {"rois", "probs"},
         {MakeArgument("rotated", 1), MakeArgument("spatial_scale", 0.1f),
          MakeArgument("min_size", 1.f), MakeArgument("nms_thresh", 0.2f)});
  RunOp(&ws, op, true);
  // The flat ones overlap by a third; the upright ones with nothing by much.
  ExpectTensor(ws, "rois", {3, 6},
               {0, 20, 30, 20, 2, 0, 0, 20, 30, 20, 2, 90, 0, 30, 30, 20, 2, 90});
  ExpectTensor(ws, "probs", {3}, {0.9f, 0.7f, 0.6f});
  Feed<float>(&ws, "anchors", {2, 4}, Floats(8, 1.f));
  ExpectThrows(&ws, op, "A x 5");
}

}  // namespace
}  // namespace caffe2::testing
