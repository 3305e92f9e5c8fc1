#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(MinMaxOpTest, CombinesAnyNumberOfInputs) {
  Workspace ws;
  Feed<float>(&ws, "A", {3}, {1, 5, NAN});
  Feed<float>(&ws, "B", {3}, {4, 2, 0});
  Feed<float>(&ws, "C", {3}, {3, 3, 3});
  RunOp(&ws, Op("Max", {"A", "B", "C"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {4, 5, NAN});
  RunOp(&ws, Op("Min", {"A", "B", "C"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {1, 2, NAN});
  Feed<float>(&ws, "A", {3}, {2, 1, 3});
  RunOp(&ws, Op("Mean", {"A", "B", "C"}, {"A"}));
  ExpectTensor(ws, "A", {3}, {3, 2, 2});
  RunOp(&ws, Op("Mean", {"B"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {4, 2, 0});
  FeedRandom(&ws, "D", {2}, 1);
  ExpectThrows(&ws, Op("Max", {"A", "D"}, {"Y"}),
               "all inputs must have the same shape: input 0 has shape");
}

TEST(MinMaxOpTest, Gradients) {
  Workspace ws;
  Feed<float>(&ws, "A", {4}, {1, 5, 2, 3});
  Feed<float>(&ws, "B", {4}, {4, 2, 1, 9});
  Feed<float>(&ws, "C", {4}, {3, 3, 7, 4});
  for (const char* type : {"Max", "Min", "Mean"}) {
    CheckGradient(&ws, Op(type, {"A", "B", "C"}, {"Y"}), {0, 1, 2});
  }
}

// Each input has the greatest value in two places and the least in two others; each place has two
// of both.
TEST(MinMaxOpTest, GradientsOfManyInputs) {
  constexpr int kInputs = 40, kValues = kInputs / 2;
  const Shape shape{kInputs};
  const auto value = [](int input, int i) { return static_cast<float>((input + i) % kValues); };
  Workspace ws;
  std::vector<std::string> inputs, outputs;
  for (int k = 0; k < kInputs; ++k) {
    inputs.push_back("X" + std::to_string(k));
    outputs.push_back("dX" + std::to_string(k));
    Floats x;
    for (int i = 0; i < kInputs; ++i) x.push_back(value(k, i));
    Feed(&ws, inputs.back(), shape, x);
  }
  FeedRandom(&ws, "dY", shape, 1);
  const Floats dy = FetchValues<float>(ws, "dY");
  std::vector<std::string> selected{"Y", "dY"};
  selected.insert(selected.end(), inputs.begin(), inputs.end());
  const auto expect = [&](const auto& share) {
    for (int k = 0; k < kInputs; ++k) {
      Floats expected;
      for (int i = 0; i < kInputs; ++i) expected.push_back(share(value(k, i)) * dy[i]);
      ExpectTensor(ws, outputs[k], shape, expected);
    }
  };
  RunOp(&ws, Op("Max", inputs, {"Y"}));
  RunOp(&ws, Op("MaxGradient", selected, outputs));
  expect([](float x) { return x == kValues - 1 ? 1.f : 0.f; });
  RunOp(&ws, Op("Min", inputs, {"Y"}));
  RunOp(&ws, Op("MinGradient", selected, outputs));
  expect([](float x) { return x == 0 ? 1.f : 0.f; });
  RunOp(&ws, Op("MeanGradient", {"dY"}, outputs));
  expect([](float) { return 1.f / kInputs; });
}

}  // namespace
}  // namespace caffe2::testing
