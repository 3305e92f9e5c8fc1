#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SparseNormalizeTest, ScalesRows) {
  Workspace ws;
  const std::vector<float> p{3, 4, 0.3f, 0.4f, 6, 8, 0, 0};
  Feed(&ws, "p", {4, 2}, p);
  Feed<int32_t>(&ws, "i", {3}, {0, 1, 3});
  RunOp(&ws, Op("SparseNormalize", {"p", "i"}, {"p"}));
  ExpectTensor(ws, "p", {4, 2}, {0.6f, 0.8f, 0.3f, 0.4f, 6, 8, 0, 0});
  Feed(&ws, "p", {4, 2}, p);
  FeedRandom(&ws, "g", {3, 2}, 1);
  RunOp(&ws, Op("SparseNormalize", {"p", "i", "g"}, {"p"},
                {MakeArgument<int>("use_max_norm", 0), MakeArgument<float>("norm", 2.f)}));
  ExpectTensor(ws, "p", {4, 2}, {1.2f, 1.6f, 1.2f, 1.6f, 6, 8, 0, 0});
  Feed<int32_t>(&ws, "i", {1}, {-1});
  ExpectThrows(&ws, Op("SparseNormalize", {"p", "i"}, {"p"}), "index -1");
}

TEST(SparseNormalizeTest, ScalesRowsOfFloat16) {
  Workspace ws;
  Feed<float16>(&ws, "p", {2, 2}, {ToFloat16(3), ToFloat16(4), ToFloat16(0.3f), ToFloat16(0.4f)});
  Feed<int64_t>(&ws, "i", {2}, {0, 1});
  RunOp(&ws, Op("Float16SparseNormalize", {"p", "i"}, {"p"}));
  Floats expected;
  for (const float value : {0.6f, 0.8f, 0.3f, 0.4f}) expected.push_back(ToFloat(ToFloat16(value)));
  ExpectNear(FetchValues<float16>(ws, "p"), expected, 0);
  Feed<float>(&ws, "p", {2, 2}, {3, 4, 3, 4});
  ExpectThrows(&ws, Op("Float16SparseNormalize", {"p", "i"}, {"p"}), "float");
}

}  // namespace
}  // namespace caffe2::testing
