#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(SparseOptimizerTest, WngradHasOneRateForAll) {
  Feed<float>(&ws, "b", {1}, {2});
  const auto p = FetchValues<float>(ws, "p"), g = FetchValues<float>(ws, "g");
  const Floats dense = Dense(g);
  const float rate = -0.1f / 2.5f;
  double squares = 0;
  std::vector<float> expected = p, update;
  for (size_t i = 0; i < p.size(); ++i) {
    squares += double{dense[i]} * dense[i];
    expected[i] += rate * dense[i];
    update.push_back(rate * dense[i]);
  }
  const auto b = static_cast<float>(2 + squares / 2.5);
  Feed(&ws, "dense", {5, 3}, dense);
  const auto epsilon = MakeArgument("epsilon", 0.5f);
  RunOp(&ws, Op("Wngrad", {"p", "b", "dense", "lr"}, {"p1", "b1", "rate", "update"}, {epsilon}));
  ExpectTensor(ws, "p1", {5, 3}, expected);
  ExpectTensor(ws, "b1", {1}, {b});
  ExpectTensor(ws, "rate", {1}, {rate});
  ExpectTensor(ws, "update", {5, 3}, update);
  RunOp(&ws, Op("SparseWngrad", {"p", "b", "i", "g", "lr"}, {"p", "b"}, {epsilon}));
  ExpectTensor(ws, "p", {5, 3}, expected);
  ExpectTensor(ws, "b", {1}, {b});
  ExpectThrows(&ws, Op("Wngrad", {"p", "m", "dense", "lr"}, {"p1", "b1"}), "seq_b");
  ExpectThrows(&ws, Op("SparseWngrad", {"p", "b", "beyond", "g", "lr"}, {"p", "b"}), "index 5");
}

}  // namespace
}  // namespace caffe2::testing
