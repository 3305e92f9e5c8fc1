#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/recurrent/recurrent_test_util.h"

namespace caffe2::testing {
namespace {

TEST(LSTMUnitTest, Reference) {
  for (const bool drop : {false, true}) {
    for (const bool lengths : {false, true}) {
      Workspace ws;
      FeedUnit(&ws, 4);
      std::vector<std::string> inputs{"h_prev", "c_prev", "gates", "t"};
      if (lengths) inputs.insert(inputs.begin() + 3, "lengths");
      RunOp(&ws, Op("LSTMUnit", inputs, {"h", "c"},
                    {MakeArgument("forget_bias", 0.5f), MakeArgument("drop_states", drop),
                     MakeArgument("sequence_lengths", lengths)}));
      std::vector<float> h, c;
      for (int n = 0; n < kUnitRows; ++n) {
        const float* x = Fetch(ws, "gates").data<float>() + n * 4 * kUnitWidth;
        for (int j = 0; j < kUnitWidth; ++j) {
          const float c_prev = Values(ws, "c_prev")[n * kUnitWidth + j];
          if (lengths && n == 1) {
            h.push_back(drop ? 0 : Values(ws, "h_prev")[n * kUnitWidth + j]);
            c.push_back(drop ? 0 : c_prev);
            continue;
          }
          const double cell = Sigmoid(x[kUnitWidth + j] + 0.5) * c_prev +
                              Sigmoid(x[j]) * std::tanh(double{x[3 * kUnitWidth + j]});
          c.push_back(cell);
          h.push_back(Sigmoid(x[2 * kUnitWidth + j]) * std::tanh(cell));
        }
      }
      ExpectTensor(ws, "h", {1, kUnitRows, kUnitWidth}, h);
      ExpectTensor(ws, "c", {1, kUnitRows, kUnitWidth}, c);
    }
  }
}

TEST(LSTMUnitTest, Gradient) {
  for (const bool drop : {false, true}) {
    Workspace ws;
    FeedUnit(&ws, 4);
    const std::vector<Argument> args{MakeArgument("drop_states", drop),
                                     MakeArgument("forget_bias", -0.5f)};
    GradientOptions both;
    both.outputs_with_gradient = {0, 1};
    CheckGradient(&ws,
                  Op("LSTMUnit", {"h_prev", "c_prev", "gates", "lengths", "t"}, {"h", "c"}, args),
                  {0, 1, 2}, both);
    std::vector<Argument> no_lengths = args;
    no_lengths.push_back(MakeArgument("sequence_lengths", false));
    CheckGradient(&ws, Op("LSTMUnit", {"h_prev", "c_prev", "gates", "t"}, {"h", "c"}, no_lengths),
                  {0, 1, 2}, both);
  }
}

TEST(LSTMUnitTest, SaturatedGatesStayFinite) {
  Workspace ws;
  FeedUnit(&ws, 4);
  Feed<float>(&ws, "gates", {1, kUnitRows, 4 * kUnitWidth},
              std::vector<float>(kUnitRows * 4 * kUnitWidth, 300.f));
  RunOp(&ws, Op("LSTMUnit", {"h_prev", "c_prev", "gates", "t"}, {"h", "c"},
                {MakeArgument("sequence_lengths", false)}));
  std::vector<float> c = Values(ws, "c_prev"), h;
  for (float& value : c) value += 1;  // both gates are open, the input is 1
  for (float value : c) h.push_back(std::tanh(value));
  ExpectTensor(ws, "c", {1, kUnitRows, kUnitWidth}, c);
  ExpectTensor(ws, "h", {1, kUnitRows, kUnitWidth}, h);
}

TEST(LSTMUnitTest, BadInput) {
  Workspace ws;
  FeedUnit(&ws, 3);
  const OperatorDef op = Op("LSTMUnit", {"h_prev", "c_prev", "gates", "lengths", "t"}, {"h", "c"});
  ExpectThrows(&ws, op, "gates [1, 3, 15] do not hold 4 blocks");
  FeedUnit(&ws, 4);
  Feed<int32_t>(&ws, "lengths", {2}, {1, 1});
  ExpectThrows(&ws, op,
               "one sequence length for each of the 3 rows of the states, which have shape [1, 3, "
               "5]; found 2");
  FeedUnit(&ws, 4);
  FeedRandom(&ws, "h_prev", {1, kUnitRows, 2}, 1);
  ExpectThrows(&ws, op,
               "inputs 0 and 1 must have the same number of elements: their shapes are [1, 3, 2] "
               "and [1, 3, 5]");
  FeedUnit(&ws, 4);
  Feed<int64_t>(&ws, "lengths", {kUnitRows}, {3, 2, 7});
  ExpectThrows(&ws, op, "holds int64_t");
  ExpectThrows(&ws, Op("LSTMUnit", {"h_prev", "c_prev", "gates", "t"}, {"h", "c"}),
               "with argument sequence_lengths 1 there must be 5 inputs, found 4");
}

}  // namespace
}  // namespace caffe2::testing
