#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(NGramFromCategoricalTest, CountsInMixedBases) {
  Workspace ws;
  // Column 2 has the values 10, 20, 30; column 0 has 7, 5.
  const auto op = [](const Longs& limits) {
    return Op("NGramFromCategorical", {"X"}, {"Y"},
              {MakeArgument("col_ids", Longs{2, 0}), MakeArgument("categorical_limits", limits),
               MakeArgument("vals", Longs{10, 20, 30, 7, 5})});
  };
  Feed<float>(&ws, "X", {3, 3}, {5, 0, 30, 7, 0, 19.6f, 4, 0, 10});
  RunOp(&ws, op({3, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{2 + 3, 1, 0}));
  ExpectThrows(&ws, op({3, 1}), "as many values as categorical_limits add up to");
  ExpectThrows(&ws, op({3, 3}), "from 1 to the 2 vals that are left, found 3");
  ExpectThrows(&ws, op({5}), "one limit for each of col_ids");
  Feed<float>(&ws, "X", {1, 2}, {1, 2});
  ExpectThrows(&ws, op({3, 2}), "index 2");
}

}  // namespace
}  // namespace caffe2::testing
