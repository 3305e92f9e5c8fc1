#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class FCPruneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws_, "X", {3, 4}, 1);
    FeedRandom(&ws_, "W", {2, 4}, 2);
    FeedRandom(&ws_, "b", {2}, 3);
    Feed<float>(&ws_, "mask", {2, 4}, std::vector<float>(8, 1));
    Feed<float>(&ws_, "sum", {2, 4}, std::vector<float>(8, 0));
    Feed<float>(&ws_, "seq", {2, 4}, std::vector<float>(8, 0));
    Feed<float>(&ws_, "thres", {1}, {0.5f});
    Feed<float>(&ws_, "bound", {1}, {0.05f});
  }
  static OperatorDef Forward(bool rate) {
    return Op("FC_Prune", {"X", "W", "mask", "b", "sum", "seq", "thres", "bound"},
              rate ? std::vector<std::string>{"Y", "rate"} : std::vector<std::string>{"Y"});
  }
  static OperatorDef Backward() {
    return Op("FCGradient_Prune", {"X", "W", "mask", "dY", "sum", "seq", "thres", "bound"},
              {"dW", "db", "W", "mask", "sum", "seq", "dX"});
  }
  Workspace ws_;
};

TEST_F(FCPruneTest, IsFC) {
  Feed<float>(&ws_, "mask", {2, 4}, {1, 1, 1, 0, 1, 1, 0, 1});
  RunOp(&ws_, Forward(true));
  RunOp(&ws_, Op("FC", {"X", "W", "b"}, {"expected"}));
  ExpectTensor(ws_, "Y", {3, 2}, FetchValues<float>(ws_, "expected"));
  ExpectTensor(ws_, "rate", {}, {0.75f});
  Feed<float>(&ws_, "mask", {2, 4}, std::vector<float>(8, 1));
  CheckGradient(&ws_, Forward(false), {0, 1, 3});
  Feed<float>(&ws_, "b", {3}, {1, 2, 3});
  ExpectThrows(&ws_, Forward(false), "the bias must have one value for each of the");
  FeedRandom(&ws_, "W", {2, 5}, 2);
  ExpectThrows(&ws_, Forward(false), "the columns of X and W must match");
}

// For 99 runs gradients are summed up, the 100th prunes what is summed up to little.
TEST_F(FCPruneTest, PrunesEvery100Runs) {
  Feed<float>(&ws_, "X", {1, 4}, {1e-3f, 1, 0, -1e-3f});
  Feed<float>(&ws_, "dY", {1, 2}, {1, 2});
  NetDef net;
  net.set_name("net");
  *net.add_op() = Backward();
  ws_.CreateNet(net);
  const std::vector<float> w = FetchValues<float>(ws_, "W");
  for (int run = 0; run < 99; ++run) ASSERT_TRUE(ws_.RunNet("net"));
  EXPECT_EQ(FetchValues<float>(ws_, "W"), w);
  ExpectTensor(ws_, "sum", {2, 4}, {0.099f, 99, 0, -0.099f, 0.198f, 198, 0, -0.198f}, 1e-4f);
  ASSERT_TRUE(ws_.RunNet("net"));
  // Those that are 0 have no gradient yet: they stay.
  ExpectTensor(ws_, "W", {2, 4}, {0, w[1], w[2], 0, 0, w[5], w[6], 0}, 0, 0);
  ExpectTensor(ws_, "mask", {2, 4}, {0, 1, 1, 0, 0, 1, 1, 0}, 0, 0);
  ExpectTensor(ws_, "seq", {2, 4}, {0, 3, 4, 7, 0, 0, 0, 0}, 0, 0);
  ExpectTensor(ws_, "sum", {2, 4}, std::vector<float>(8, 0), 0, 0);
  ASSERT_TRUE(ws_.RunNet("net"));
  ExpectTensor(ws_, "dW", {2, 4}, {0, 1, 0, 0, 0, 2, 0, 0});  // and masks gradients
  // A share of 4 / 8 is left: no more.
  Feed<float>(&ws_, "bound", {1}, {0.5f});
  for (int run = 0; run < 200; ++run) ASSERT_TRUE(ws_.RunNet("net"));
  ExpectTensor(ws_, "mask", {2, 4}, {0, 1, 1, 0, 0, 1, 1, 0}, 0, 0);
}

// A mask of more weights than a block has threads.
TEST_F(FCPruneTest, LargeWeights) {
  constexpr int kRows = 6, kInputs = 70, kOutputs = 20;
  FeedRandom(&ws_, "X", {kRows, kInputs}, 1);
  FeedRandom(&ws_, "W", {kOutputs, kInputs}, 2);
  FeedRandom(&ws_, "b", {kOutputs}, 3);
  FeedRandom(&ws_, "dY", {kRows, kOutputs}, 4);
  std::vector<float> mask(kInputs * kOutputs, 1.f);
  for (size_t i = 0; i < mask.size(); i += 4) mask[i] = 0;
  Feed(&ws_, "mask", {kOutputs, kInputs}, mask);
  FeedRandom(&ws_, "sum", {kOutputs, kInputs}, 5);
  FeedRandom(&ws_, "seq", {kOutputs, kInputs}, 6);
  RunOp(&ws_, Forward(true));
  ExpectTensor(ws_, "rate", {}, {0.75f});
  const auto x = FetchValues<float>(ws_, "X"), dy = FetchValues<float>(ws_, "dY"),
             sum = FetchValues<float>(ws_, "sum");
  std::vector<float> dw(mask.size()), expected(mask.size());
  for (size_t i = 0; i < mask.size(); ++i) {
    double slope = 0;
    for (size_t r = 0; r < kRows; ++r) {
      slope += double{dy[r * kOutputs + i / kInputs]} * x[r * kInputs + i % kInputs];
    }
    dw[i] = mask[i] == 0 ? 0 : static_cast<float>(slope);
    expected[i] = sum[i] + dw[i];
  }
  RunOp(&ws_, Backward());
  ExpectTensor(ws_, "dW", {kOutputs, kInputs}, dw, 1e-5f, 1e-5f);
  ExpectTensor(ws_, "sum", {kOutputs, kInputs}, expected, 1e-5f, 1e-5f);
  Feed<float>(&ws_, "bound", {1}, {0.75f});  // no more than that share is left
  RunOp(&ws_, Backward());
  ExpectTensor(ws_, "sum", {kOutputs, kInputs}, expected, 1e-5f, 1e-5f);
  Feed<float>(&ws_, "bound", {2}, {0, 0});
  ExpectThrows(&ws_, Backward(), "thres and comp_lb must have one element each, found 2");
  Feed<float>(&ws_, "mask", {8}, std::vector<float>(8, 1));
  ExpectThrows(&ws_, Backward(), "Mask must have the shape of W: Mask has shape [8], W [20, 70]");
}

}  // namespace
}  // namespace caffe2::testing
