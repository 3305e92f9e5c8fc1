#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(RankingCriterionTest, PenalizesPairs) {
  Workspace ws;
  Feed<float>(&ws, "A", {4}, {1, 0, 2, -1});
  Feed<float>(&ws, "B", {4}, {0.5f, 3, 0, 1});
  Feed<int32_t>(&ws, "Y", {4}, {1, -1, 1, 1});
  const OperatorDef ranking = Op("MarginRankingCriterion", {"A", "B", "Y"}, {"L"});
  RunOp(&ws, ranking);
  ExpectTensor(ws, "L", {4}, {0.5f, 0, 0, 3});
  CheckGradient(&ws, ranking, {0, 1});
  Feed<float>(&ws, "S", {4}, {0.3f, 0.8f, -0.5f, 0.1f});
  Feed<int32_t>(&ws, "Y", {4}, {1, -1, -1, -1});
  const OperatorDef cosine =
      Op("CosineEmbeddingCriterion", {"S", "Y"}, {"L"}, {MakeArgument<float>("margin", 0.2f)});
  RunOp(&ws, cosine);
  ExpectTensor(ws, "L", {4}, {0.7f, 0.6f, 0, 0});
  CheckGradient(&ws, cosine, {0});
  Feed<int32_t>(&ws, "Y", {1}, {1});
  ExpectThrows(&ws, ranking,
               "all inputs must have the same shape: input 2 has shape [1], input 0 [4]");
  ExpectThrows(&ws, cosine,
               "all inputs must have the same shape: input 1 has shape [1], input 0 [4]");
}

}  // namespace
}  // namespace caffe2::testing
