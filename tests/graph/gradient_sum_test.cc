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

// Like FuseGradientSums for a GPU, where all convolutions add in place. The net stays on the CPU,
// whose operators can add too.
int FuseAllGradientSums(NetDef* net, const std::set<std::string>& keep = {}) {
  net->mutable_device_option()->set_device_type(CUDA);
  const int fused = FuseGradientSums(net, keep);
  net->clear_device_option();
  return fused;
}

class GradientSumTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GradientSumTest, ComputesTheSame) {
  TrainedNet plain(GetParam()), fused(GetParam());
  const int sums = CountType(plain.builder.net(), "Sum");
  EXPECT_EQ(sums, 2);  // one a block
  EXPECT_EQ(FuseAllGradientSums(&fused.builder.net()), sums);
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
    return FuseAllGradientSums(&net.builder.net(), keep);
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
              net->mutable_op(SumOf(*net, 0))->mutable_device_option()->set_device_type(CPU);
            }),
            1);
}

// A convolution whose input another one reads, too. Its gradient comes last.
struct SharedInputNet {
  SharedInputNet(const std::string& order, int kernel, int stride) : builder(&ws, order, false) {
    const std::string x = builder.Relu(builder.Input("data", 2, 4, 6), "x");
    const std::string a = builder.Conv(x, "a", 4, 4, kernel, stride, true);
    builder.Add("AveragedLoss", {builder.Sum(a, builder.Conv(x, "b", 4, 4, 3, stride), "y")},
                "loss");
    gradients = AddGradientOperators(&builder.net(), {{"loss", ""}});
  }
  Workspace ws;
  testing::ImageNetBuilder builder;
  std::map<std::string, GradientWrapper> gradients;
};

// On the CPU only pointwise convolutions of NHWC add in place.
TEST(GradientSumOnCpuTest, PointwiseConvolutionsAdd) {
  SharedInputNet plain("NHWC", 1, 1), fused("NHWC", 1, 1);
  ASSERT_EQ(FuseGradientSums(&fused.builder.net()), 1);
  ASSERT_TRUE(plain.ws.RunNetOnce(plain.builder.net()));
  ASSERT_TRUE(fused.ws.RunNetOnce(fused.builder.net()));
  EXPECT_EQ(testing::ExpectSameGradients(plain.builder.net(), plain.ws, plain.gradients, fused.ws,
                                         fused.gradients, 1e-6f),
            4);
  EXPECT_EQ(FuseGradientSums(&SharedInputNet("NHWC", 3, 1).builder.net()), 0);
  EXPECT_EQ(FuseGradientSums(&SharedInputNet("NHWC", 1, 2).builder.net()), 0);
  EXPECT_EQ(FuseGradientSums(&SharedInputNet("NCHW", 1, 1).builder.net()), 0);
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
