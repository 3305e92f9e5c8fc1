// What the tests of row-wise quantized tensors share.
#pragma once

#include "tests/operators/op_test.h"

namespace caffe2::testing {

class RowwiseQuantizedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws, "X", {4, 3}, 1, -3, 5);
    RunOp(&ws, Op("FloatToFused8BitRowwiseQuantized", {"X"}, {"F"}));
    RunOp(&ws, Op("FloatToRowwiseQuantized8Bits", {"X"}, {"Q", "S"}));
    Feed<int32_t>(&ws, "i", {5}, {3, 0, 0, 2, 1});
    Feed<int32_t>(&ws, "n", {3}, {2, 0, 3});
    FeedRandom(&ws, "w", {5}, 2);
  }
  // The result of an operator on quantized data must be that of one on their floats.
  void ExpectSame(const OperatorDef& quantized, const OperatorDef& plain) {
    RunOp(&ws, quantized);
    RunOp(&ws, plain);
    ExpectTensor(ws, quantized.output(0), Fetch(ws, plain.output(0)).sizes(),
                 FetchValues<float>(ws, plain.output(0)), 1e-5f, 1e-5f);
  }
  Workspace ws;
};

}  // namespace caffe2::testing
