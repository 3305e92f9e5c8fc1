#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef GroupSoftmax(int classes) {
  return Op("GroupSpatialSoftmax", {"X"}, {"P"}, {MakeArgument("num_classes", classes)});
}

TEST(GroupSpatialSoftmaxTest, MatchesReference) {
  Workspace ws;
  const int images = 2, groups = 2, classes = 3, area = 4;
  FeedRandom(&ws, "X", {images, groups * classes, 2, 2}, 1, -3, 3);
  const std::vector<float> x = FetchValues<float>(ws, "X");
  std::vector<float> expected(x.size());
  for (int g = 0; g < images * groups; ++g) {
    for (int i = 0; i < area; ++i) {
      double sum = 0;
      for (int c = 0; c < classes; ++c) sum += std::exp(x[(g * classes + c) * area + i]);
      for (int c = 0; c < classes; ++c) {
        const int at = (g * classes + c) * area + i;
        expected[at] = static_cast<float>(std::exp(x[at]) / sum);
      }
    }
  }
  RunOp(&ws, GroupSoftmax(classes));
  ExpectTensor(ws, "P", {images, groups * classes, 2, 2}, expected);
  CheckGradient(&ws, GroupSoftmax(classes), {0});
}

TEST(GroupSpatialSoftmaxTest, StaysFinite) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 4, 1, 1}, {1000, 1000, -1000, 1000});
  RunOp(&ws, GroupSoftmax(2));
  ExpectTensor(ws, "P", {1, 4, 1, 1}, {0.5f, 0.5f, 0, 1});
}

TEST(GroupSpatialSoftmaxTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 4, 1, 2}, 1);
  ExpectThrows(&ws, GroupSoftmax(3), "C a multiple of the 3 classes");
  ExpectThrows(&ws, GroupSoftmax(0), "num_classes must be positive, found 0");
  FeedRandom(&ws, "d", {1, 4, 2, 1}, 1);
  ExpectThrows(
      &ws, Op("GroupSpatialSoftmaxGradient", {"X", "d"}, {"dX"}, {MakeArgument("num_classes", 2)}),
      "found [1, 4, 2, 1]");
  FeedRandom(&ws, "X", {4, 2}, 1);
  ExpectThrows(&ws, GroupSoftmax(2), "N x C x H x W");
}

}  // namespace
}  // namespace caffe2::testing
