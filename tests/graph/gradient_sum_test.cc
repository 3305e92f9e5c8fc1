#include "caffe2/graph/gradient_sum.h"

#include "caffe2/graph/fusion.h"
#include "caffe2/graph/gradient.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::CountType;

// A residual net with its backward pass.
struct TrainedNet : testing::ResidualNet {
  explicit TrainedNet(const std::string& order) : testing::ResidualNet(order, false) {
    FuseOperators(&builder.net(), {FusionLevel::kAll, {}});
    gradients = AddGradientOperators(&builder.net(), {{"loss", ""}});
  }
  std::map<std::string, GradientWrapper> gradients;
};

class GradientSumTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GradientSumTest, ComputesTheSame) {
  TrainedNet plain(GetParam()), fused(GetParam());
  const int sums = CountType(plain.builder.net(), "Sum");
  EXPECT_EQ(sums, 2);  // one a block
  EXPECT_EQ(FuseGradientSums(&fused.builder.net()), sums);
  EXPECT_EQ(CountType(fused.builder.net(), "Sum"), 0);
  ASSERT_TRUE(plain.ws.RunNetOnce(plain.builder.net()));
  ASSERT_TRUE(fused.ws.RunNetOnce(fused.builder.net()));
  EXPECT_GE(testing::ExpectSameGradients(plain.builder.net(), plain.ws, plain.gradients, fused.ws,
                                         fused.gradients, 1e-6f),
            20);
}

INSTANTIATE_TEST_SUITE_P(Orders, GradientSumTest, ::testing::Values("NCHW", "NHWC"));

// The position of the n-th Sum.
int SumOf(const NetDef& net, int n) {
  for (int i = 0; i < net.op_size(); ++i) {
    if (net.op(i).type() == "Sum" && n-- == 0) return i;
  }
  return -1;
}

TEST(GradientSumRefusalTest, GradientsThatAreReadElsewhereStay) {
  const auto fused = [](const std::function<void(NetDef*)>& change,
                        const std::set<std::string>& keep = {}) {
    TrainedNet net("NHWC");
    change(&net.builder.net());
    return FuseGradientSums(&net.builder.net(), keep);
  };
  EXPECT_EQ(fused([](NetDef*) {}), 2);
  for (const int input : {0, 1}) {
    EXPECT_EQ(fused([input](NetDef* net) {
                const int sum = SumOf(*net, 1);
                OperatorDef* reader = net->add_op();
                reader->set_type("Relu");
                reader->add_input(net->op(sum).input(input));
                reader->add_output("copy");
                for (int i = net->op_size() - 1; i > sum; --i) {
                  net->mutable_op()->SwapElements(i, i - 1);
                }
              }),
              1);
  }
  // The first input has the name of the sum, which may be read.
  EXPECT_EQ(fused([](NetDef* net) { net->add_external_output(net->op(SumOf(*net, 0)).input(1)); }),
            1);
  EXPECT_EQ(fused([](NetDef* net) { net->add_external_output(net->op(SumOf(*net, 0)).input(0)); }),
            2);
  TrainedNet net("NHWC");
  EXPECT_EQ(fused([](NetDef*) {}, {net.builder.net().op(SumOf(net.builder.net(), 0)).input(1)}), 1);
  EXPECT_EQ(fused([](NetDef* net) {
              net->mutable_op(SumOf(*net, 0))->mutable_device_option()->set_device_type(CUDA);
            }),
            1);
}

// Sums of the forward pass have no convolution's gradient in them.
TEST(GradientSumRefusalTest, OtherSumsStay) {
  testing::ResidualNet net("NCHW", false);
  EXPECT_EQ(CountType(net.builder.net(), "Sum"), 2);
  EXPECT_EQ(FuseGradientSums(&net.builder.net()), 0);
  EXPECT_EQ(CountType(net.builder.net(), "Sum"), 2);
}

}  // namespace
}  // namespace caffe2
