#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

const OperatorDef kSample = Op("SampleAs", {"X", "labels"}, {"Y"});

TEST(SampleAsTest, KeepsPositiveRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Feed<int>(&ws, "labels", {4}, {7, 0, -1, 1});
  RunOp(&ws, kSample, kInferenceOptional);
  ExpectTensor(ws, "Y", {2, 1, 2}, {1, 2, 7, 8});
  CheckGradient(&ws, kSample, {0});
  Feed<int64_t>(&ws, "labels", {4}, {0, 0, 5, 0});
  RunOp(&ws, kSample, kInferenceOptional);
  ExpectTensor(ws, "Y", {1, 1, 2}, {5, 6});
}

TEST(SampleAsTest, MayKeepNothing) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, Floats(6, 1.f));
  Feed<int>(&ws, "labels", {2}, {0, 0});
  RunOp(&ws, kSample, kInferenceOptional);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Shape{0, 3}));
  RunOp(&ws, Op("SampleAsGradient", {"X", "labels", "Y"}, {"dX"}));
  ExpectTensor(ws, "dX", {2, 3}, Floats(6, 0.f));
}

TEST(SampleAsTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1);
  Feed<int>(&ws, "labels", {2}, {1, 1});
  ExpectThrows(&ws, kSample, "labels has shape [2], X [3, 2]");
  FeedRandom(&ws, "labels", {3}, 1);
  ExpectThrows(&ws, kSample, "labels must be int32 or int64");
  Feed<int>(&ws, "labels", {3}, {1, 0, 1});
  ExpectThrows(&ws, Op("SampleAsGradient", {"X", "labels", "X"}, {"dX"}),
               "one row for each of the 2 rows that were kept, found shape [3, 2]");
}

}  // namespace
}  // namespace caffe2::testing
