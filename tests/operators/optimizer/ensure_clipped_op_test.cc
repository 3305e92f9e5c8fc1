#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(EnsureClippedTest, LimitsAllOrSomeRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {-3, 0.5f, 9, NAN, -1, 2});
  const std::vector<Argument> bounds{MakeArgument("min", -1.f), MakeArgument("max", 1.f)};
  RunOp(&ws, Op("EnsureClipped", {"X"}, {"Y"}, bounds));
  ExpectTensor(ws, "Y", {3, 2}, {-1, 0.5f, 1, NAN, -1, 1});
  Feed<int64_t>(&ws, "i", {2}, {2, 0});
  Feed<float>(&ws, "g", {2, 2}, {0, 0, 0, 0});
  ExpectThrows(&ws, Op("EnsureClipped", {"X", "i", "g"}, {"Y"}, bounds),
               "with indices the output must be the blob of the parameter");
  RunOp(&ws, Op("EnsureClipped", {"X", "i", "g"}, {"X"}, bounds));
  ExpectTensor(ws, "X", {3, 2}, {-1, 0.5f, 9, NAN, -1, 1});
  Feed<int64_t>(&ws, "i", {1}, {3});
  ExpectThrows(&ws, Op("EnsureClipped", {"X", "i", "g"}, {"X"}, bounds), "3");
  ExpectThrows(&ws, Op("EnsureClipped", {"X"}, {"Y"}, {bounds[0], MakeArgument("max", -2.f)}),
               "is larger than argument max (-2)");
  Feed<double>(&ws, "D", {1, 1}, {7});
  Feed<int64_t>(&ws, "i", {1}, {0});
  ExpectThrows(&ws, Op("EnsureClipped", {"D", "i", "g"}, {"D"}, bounds), "holds double");
  EXPECT_EQ(FetchValues<double>(ws, "D"), std::vector<double>{7});
}

}  // namespace
}  // namespace caffe2::testing
