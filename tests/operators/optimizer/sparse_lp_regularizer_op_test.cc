#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SparseLpRegularizerTest, ShrinksRows) {
  Workspace ws;
  Feed<int64_t>(&ws, "i", {2}, {2, 0});
  const auto run = [&](float p) {
    Feed<float>(&ws, "P", {3, 2}, {1, -1, 2, 3, 0.25f, -0.125f});
    RunOp(&ws, Op("SparseLpRegularizer", {"P", "i"}, {"P"},
                  {MakeArgument("p", p), MakeArgument("reg_lambda", 0.25f)}));
  };
  run(2);
  ExpectTensor(ws, "P", {3, 2}, {0.75f, -0.75f, 2, 3, 0.1875f, -0.09375f});
  run(1);
  ExpectTensor(ws, "P", {3, 2}, {0.75f, -0.75f, 2, 3, 0, 0});
  ExpectThrows(&ws, Op("SparseLpRegularizer", {"P", "i"}, {"P"}, {MakeArgument("p", 3.f)}),
               "must be 1 or 2");
  Feed<int64_t>(&ws, "i", {1}, {3});
  ExpectThrows(&ws, Op("SparseLpRegularizer", {"P", "i"}, {"P"}), "index 3");
  Feed<double>(&ws, "P", {4, 1}, {1, 2, 3, 4});
  ExpectThrows(&ws, Op("SparseLpRegularizer", {"P", "i"}, {"P"}), "double");
}

}  // namespace
}  // namespace caffe2::testing
