#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/recurrent/recurrent_test_util.h"

namespace caffe2::testing {
namespace {

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
      for (int n = 0; n < kUnitRows; ++n) {
        const float* x = Fetch(ws, "gates").data<float>() + n * 3 * kUnitWidth;
        for (int j = 0; j < kUnitWidth; ++j) {
          const float h_prev = Values(ws, "h_prev")[n * kUnitWidth + j];
          const double u = Sigmoid(x[kUnitWidth + j]);
          const double next = u * h_prev + (1 - u) * std::tanh(double{x[2 * kUnitWidth + j]});
          h.push_back(lengths && n == 1 ? (drop ? 0 : h_prev) : next);
        }
      }
      ExpectTensor(ws, "h", {1, kUnitRows, kUnitWidth}, h);
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
  ExpectThrows(&ws, Op("GRUUnit", {"h_prev", "gates", "t"}, {"h"}),
               "with argument sequence_lengths 1 there must be 4 inputs, found 3");
}

}  // namespace
}  // namespace caffe2::testing
