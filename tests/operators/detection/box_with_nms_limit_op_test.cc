#include <cmath>

#include "operators/detection/boxes.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

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

TEST(RotatedBoxTest, BoxWithNMSLimitSuppressesTurnedBoxes) {
  Workspace ws;
  Feed<float>(&ws, "scores", {3, 2}, {0, 0.9f, 0, 0.8f, 0, 0.7f});
  const Floats boxes = {50, 50, 40, 4, 30, 50, 50, 40, 4, 35, 50, 50, 40, 4, 120};
  Floats columns;  // for the background too
  for (size_t i = 0; i < 15; i += 5) {
    for (int c = 0; c < 2; ++c) columns.insert(columns.end(), &boxes[i], &boxes[i] + 5);
  }
  Feed<float>(&ws, "boxes", {3, 10}, columns);
  const auto run = [&](std::vector<Argument> args) {
    args.push_back(MakeArgument("rotated", 1));
    RunOp(&ws, Op("BoxWithNMSLimit", {"scores", "boxes"}, {"s", "b", "c"}, args), true);
  };
  run({});
  ExpectTensor(ws, "s", {2}, {0.9f, 0.7f});
  ExpectTensor(ws, "b", {2, 5}, {50, 50, 40, 4, 30, 50, 50, 40, 4, 120});
  run({MakeArgument("nms", 0.9f)});
  ExpectTensor(ws, "s", {3}, {0.9f, 0.8f, 0.7f});
  run({MakeArgument("soft_nms_enabled", 1)});
  const float overlap = RotatedOverlap({50, 50, 40, 4, 30}, {50, 50, 40, 4, 35});
  EXPECT_GT(overlap, 0.3f);
  ExpectTensor(ws, "s", {3}, {0.9f, 0.7f, 0.8f * (1 - overlap)});
}

}  // namespace
}  // namespace caffe2::testing
