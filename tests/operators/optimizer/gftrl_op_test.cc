#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// With one row a group is one element: Ftrl. Columns whose z is short become 0.
TEST(GFtrlTest, DropsWholeColumns) {
  Workspace ws;
  const std::vector<Argument> args{MakeArgument("alpha", 0.3f), MakeArgument("lambda1", 0.4f)};
  FeedRandom(&ws, "p", {1, 8}, 1);
  FeedRandom(&ws, "nz", {1, 8, 2}, 2, 0.1f, 1);
  FeedRandom(&ws, "g", {1, 8}, 3);
  RunOp(&ws, Op("Ftrl", {"p", "nz", "g"}, {"expected", "expected_nz"}, args));
  RunOp(&ws, Op("GFtrl", {"p", "nz", "g"}, {"q", "q_nz"}, args));
  ExpectTensor(ws, "q", {1, 8}, FetchValues<float>(ws, "expected"));
  ExpectTensor(ws, "q_nz", {1, 8, 2}, FetchValues<float>(ws, "expected_nz"));

  // n = 0, z = 0: z' = g, n' = g^2. |z'| is 5 in column 0, 1 in column 1; lambda1 sqrt(2) is 2.
  Feed<float>(&ws, "p", {2, 2}, {1, 1, 1, 1});
  Feed<float>(&ws, "nz", {2, 2, 2}, std::vector<float>(8));
  Feed<float>(&ws, "g", {2, 2}, {3, 0.6f, 4, 0.8f});
  Feed<float>(&ws, "alpha", {1}, {1e6f});  // keeps sigma * w small
  RunOp(&ws, Op("GFtrl", {"p", "nz", "g", "alpha"}, {"p", "nz"},
                {MakeArgument("lambda1", std::sqrt(2.f)), MakeArgument("lambda2", 0.5f)}));
  ExpectTensor(ws, "p", {2, 2}, {3 * -0.6f / 0.5f, 0, 4 * -0.6f / 0.5f, 0}, 1e-4f);
  ExpectThrows(&ws, Op("GFtrl", {"p", "nz", "g"}, {"p", "nz"}, {MakeArgument("alpha", 0.f)}),
               "alpha");
  ExpectThrows(&ws, Op("GFtrl", {"p", "alpha", "g"}, {"p", "alpha"}),
               "n_z must have 2 values for each element of the parameter: it has shape [1], the "
               "parameter [2, 2]");
}

}  // namespace
}  // namespace caffe2::testing
