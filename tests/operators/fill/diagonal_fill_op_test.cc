#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(DiagonalFillOpTest, FillsTheMainDiagonal) {
  Workspace ws;
  const auto fill = [](std::vector<int64_t> shape) {
    return Op("DiagonalFill", {}, {"Y"},
              {MakeArgument("shape", shape), MakeArgument("value", 2.f)});
  };
  RunOp(&ws, fill({2, 3}));
  ExpectTensor(ws, "Y", {2, 3}, {2, 0, 0, 0, 2, 0});
  RunOp(&ws, fill({3, 2}));
  ExpectTensor(ws, "Y", {3, 2}, {2, 0, 0, 2, 0, 0});
  RunOp(&ws, fill({2, 2, 2}));
  ExpectTensor(ws, "Y", {2, 2, 2}, {2, 0, 0, 0, 0, 0, 0, 2});
  ExpectThrows(&ws, fill({3}),
               "the output of DiagonalFill must have at least two axes, found shape [3]");
  ExpectThrows(&ws, fill({2, 2, 3}),
               "an output of more than two axes must have equal dimensions, found shape [2, 2, 3]");
}

}  // namespace
}  // namespace caffe2::testing
