#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BucketizeTest, CountsBoundariesBelow) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {-1, 0, 0.5f, 1, 1.5f, 9});
  const auto bucketize = [](const std::vector<float>& boundaries) {
    return Op("Bucketize", {"X"}, {"Y"}, {MakeArgument("boundaries", boundaries)});
  };
  RunOp(&ws, bucketize({0, 1, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{0, 0, 1, 1, 2, 3}));
  ExpectThrows(&ws, bucketize({1, 0}), "must be in ascending order");
  ExpectThrows(&ws, Op("Bucketize", {"X"}, {"Y"}), "boundaries");
}

}  // namespace
}  // namespace caffe2::testing
