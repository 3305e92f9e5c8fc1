#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr int kRows = 3, kUnits = 5;

void FeedTimestep(Workspace* ws, int t) { Feed<int32_t>(ws, "t", {1}, {t}); }

// Inputs of both units, at timestep 2 of sequences of lengths 3, 2 and 7: the second has ended.
void FeedUnit(Workspace* ws, int blocks) {
  FeedRandom(ws, "h_prev", {1, kRows, kUnits}, 1);
  FeedRandom(ws, "c_prev", {1, kRows, kUnits}, 2);
  FeedRandom(ws, "gates", {1, kRows, blocks * kUnits}, 3, -2, 2);
  Feed<int32_t>(ws, "lengths", {kRows}, {3, 2, 7});
  FeedTimestep(ws, 2);
}

std::vector<float> Values(const Workspace& ws, const char* name) {
  return FetchValues<float>(ws, name);
}

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
      for (int n = 0; n < kRows; ++n) {
        const float* x = Fetch(ws, "gates").data<float>() + n * 4 * kUnits;
        for (int j = 0; j < kUnits; ++j) {
          const float c_prev = Values(ws, "c_prev")[n * kUnits + j];
          if (lengths && n == 1) {
            h.push_back(drop ? 0 : Values(ws, "h_prev")[n * kUnits + j]);
            c.push_back(drop ? 0 : c_prev);
            continue;
          }
          const double cell = Sigmoid(x[kUnits + j] + 0.5) * c_prev +
                              Sigmoid(x[j]) * std::tanh(double{x[3 * kUnits + j]});
          c.push_back(cell);
          h.push_back(Sigmoid(x[2 * kUnits + j]) * std::tanh(cell));
        }
      }
      ExpectTensor(ws, "h", {1, kRows, kUnits}, h);
      ExpectTensor(ws, "c", {1, kRows, kUnits}, c);
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
  Feed<float>(&ws, "gates", {1, kRows, 4 * kUnits}, std::vector<float>(kRows * 4 * kUnits, 300.f));
  RunOp(&ws, Op("LSTMUnit", {"h_prev", "c_prev", "gates", "t"}, {"h", "c"},
                {MakeArgument("sequence_lengths", false)}));
  std::vector<float> c = Values(ws, "c_prev"), h;
  for (float& value : c) value += 1;  // both gates are open, the input is 1
  for (float value : c) h.push_back(std::tanh(value));
  ExpectTensor(ws, "c", {1, kRows, kUnits}, c);
  ExpectTensor(ws, "h", {1, kRows, kUnits}, h);
}

TEST(LSTMUnitTest, BadInput) {
  Workspace ws;
  FeedUnit(&ws, 3);
  const OperatorDef op = Op("LSTMUnit", {"h_prev", "c_prev", "gates", "lengths", "t"}, {"h", "c"});
  ExpectThrows(&ws, op, "gates [1, 3, 15] do not hold 4 blocks");
  FeedUnit(&ws, 4);
  Feed<int32_t>(&ws, "lengths", {2}, {1, 1});
  ExpectThrows(&ws, op, "sequence lengths for states [1, 3, 5]");
  FeedUnit(&ws, 4);
  FeedRandom(&ws, "h_prev", {1, kRows, 2}, 1);
  ExpectThrows(&ws, op, "inputs 0 and 1 have shapes [1, 3, 2] and [1, 3, 5]");
  FeedUnit(&ws, 4);
  Feed<int64_t>(&ws, "lengths", {kRows}, {3, 2, 7});
  ExpectThrows(&ws, op, "holds int64_t");
}

TEST(GRUUnitTest, Reference) {
  for (const bool drop : {false, true}) {
    for (const bool lengths : {false, true}) {
      Workspace ws;
      FeedUnit(&ws, 3);
      std::vector<std::string> inputs{"h_prev", "gates", "t"};
      if (lengths) inputs.insert(inputs.begin() + 2, "lengths");
      RunOp(&ws,
            Op("GRUUnit", inputs, {"h"},
               {MakeArgument("drop_states", drop), MakeArgument("sequence_lengths", lengths)}));
      std::vector<float> h;
      for (int n = 0; n < kRows; ++n) {
        const float* x = Fetch(ws, "gates").data<float>() + n * 3 * kUnits;
        for (int j = 0; j < kUnits; ++j) {
          const float h_prev = Values(ws, "h_prev")[n * kUnits + j];
          const double u = Sigmoid(x[kUnits + j]);
          const double next = u * h_prev + (1 - u) * std::tanh(double{x[2 * kUnits + j]});
          h.push_back(lengths && n == 1 ? (drop ? 0 : h_prev) : next);
        }
      }
      ExpectTensor(ws, "h", {1, kRows, kUnits}, h);
    }
  }
}

TEST(GRUUnitTest, Gradient) {
  for (const bool drop : {false, true}) {
    Workspace ws;
    FeedUnit(&ws, 3);
    const Argument drop_states = MakeArgument("drop_states", drop);
    CheckGradient(&ws, Op("GRUUnit", {"h_prev", "gates", "lengths", "t"}, {"h"}, {drop_states}),
                  {0, 1});
    CheckGradient(&ws,
                  Op("GRUUnit", {"h_prev", "gates", "t"}, {"h"},
                     {drop_states, MakeArgument("sequence_lengths", false)}),
                  {0, 1});
  }
}

TEST(GRUUnitTest, BadInput) {
  Workspace ws;
  FeedUnit(&ws, 4);
  ExpectThrows(&ws, Op("GRUUnit", {"h_prev", "gates", "lengths", "t"}, {"h"}),
               "gates [1, 3, 20] do not hold 3 blocks");
}

}  // namespace
}  // namespace caffe2::testing
