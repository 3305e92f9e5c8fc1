#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(WeightedSampleTest, DrawsInProportionToWeights) {
  Workspace ws;
  constexpr int kRows = 4000;
  Floats weights, values;
  for (int i = 0; i < kRows; ++i) {
    weights.insert(weights.end(), {1, 0, 3, 0});
    for (int j = 0; j < 4; ++j) values.push_back(static_cast<float>(10 * i + j));
  }
  Feed(&ws, "W", {kRows, 4}, weights);
  Feed(&ws, "V", {kRows, 4}, values);
  OperatorDef op = Op("WeightedSample", {"W", "V"}, {"I", "S"});
  op.mutable_device_option()->set_random_seed(3);
  RunOp(&ws, op);
  int count[4] = {};
  Floats samples;
  ExpectEach<int32_t>(ws, "I", [&](int32_t index, int64_t i) {
    samples.push_back(static_cast<float>(10 * i + index));
    ++count[index & 3];
    return index == 0 || index == 2;
  });
  EXPECT_EQ(FetchValues<float>(ws, "S"), samples);
  EXPECT_NEAR(count[2], 0.75 * kRows, 150);  // more than 5 standard deviations
  Feed<float>(&ws, "W", {2, 0}, {});
  RunOp(&ws, Op("WeightedSample", {"W"}, {"I"}));
  EXPECT_EQ(Fetch(ws, "I").sizes(), Longs{0});
  Feed<float>(&ws, "W", {0, 0}, {});
  RunOp(&ws, Op("WeightedSample", {"W", "W"}, {"I", "fresh"}));
  EXPECT_EQ(Fetch(ws, "fresh").sizes(), Longs{0});
  Feed<float>(&ws, "W", {1, 2}, {0, 0});
  ExpectThrows(&ws, Op("WeightedSample", {"W"}, {"I"}),
               "the weights of row 0 must have a positive sum");
  Feed<float>(&ws, "W", {1, 2}, {2, -1});
  ExpectThrows(&ws, Op("WeightedSample", {"W"}, {"I"}), "weight 1 of row 0 is -1");
}

TEST(WeightedMultiSamplingTest, DrawsInProportionToWeights) {
  Workspace ws;
  Feed<float>(&ws, "W", {4}, {0, 1, 3, 0});
  OperatorDef op = Op("WeightedMultiSampling", {"W"}, {"I"}, {MakeArgument("num_samples", 4000)});
  op.mutable_device_option()->set_random_seed(3);
  RunOp(&ws, op);
  int count[4] = {};
  ExpectEach<int32_t>(ws, "I", [&](int32_t index, int64_t) {
    ++count[index & 3];
    return index == 1 || index == 2;
  });
  EXPECT_NEAR(count[2], 3000, 150);  // more than 5 standard deviations
  Feed<float>(&ws, "like", {2, 3}, Floats(6));
  RunOp(&ws, Op("WeightedMultiSampling", {"W", "like"}, {"I"}));
  EXPECT_EQ(Fetch(ws, "I").sizes(), (Longs{2, 3}));
  ExpectThrows(&ws, Op("WeightedMultiSampling", {"W", "like"}, {"I"}, {op.arg(0)}), "together");
  Feed<float>(&ws, "W", {2}, {0, 0});
  ExpectThrows(&ws, op, "the weights must have a positive sum");
  Feed<float>(&ws, "W", {2}, {1, -1});
  ExpectThrows(&ws, op, "weight 1 of input 0 is -1");
  Feed<float>(&ws, "W", {0}, {});
  RunOp(&ws, op);
  EXPECT_EQ(Fetch(ws, "I").sizes(), Longs{0});
}

}  // namespace
}  // namespace caffe2::testing
