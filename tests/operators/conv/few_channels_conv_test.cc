// Convolutions of few channels in 16 bits, which CUDA devices compute with patches
// (operators/conv/few_channels_conv.h), beside the same ones in float, which they do not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

struct Shape {
  int channels, kernel_h, kernel_w, stride;
  std::vector<int> pads;  // top, left, bottom, right
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << s.channels << " channels, " << s.kernel_h << "x" << s.kernel_w << ", stride " << s.stride;
}

class FewChannelsTest : public ::testing::TestWithParam<Shape> {
 protected:
  FewChannelsTest() {
    Feed("X", {2, s_.channels, 9, 12}, 1);
    Feed("w", {5, s_.channels, s_.kernel_h, s_.kernel_w}, 2);
    args_ = {MakeArgument("kernels", std::vector<int>{s_.kernel_h, s_.kernel_w}),
             MakeArgument("strides", std::vector<int>{s_.stride, s_.stride}),
             MakeArgument("pads", s_.pads), MakeArgument<std::string>("order", "NHWC")};
  }

  // The same values as float, NAME, and bfloat16, NAME_16.
  void Feed(const std::string& name, const std::vector<int64_t>& dims, int seed) {
    const std::vector<float> values = RandomValues(CheckedNumel(dims), seed);
    FeedImage(&ws_, name, dims, Rounded(values), /*nhwc=*/true);
    FeedImage(&ws_, name + "_16", dims, ToBFloat16(values), /*nhwc=*/true);
  }
  // The blobs NAME and NAME_16 are equal but for the rounding of the latter.
  void ExpectRounded(const std::string& name) {
    WidenBlob(&ws_, name + "_16");
    const std::vector<float> values = FetchValues<float>(ws_, name);
    ExpectTensor(ws_, name + "_16", Fetch(ws_, name).sizes(), values, 0.004f, 1e-4f);
  }

  const Shape s_ = GetParam();
  std::vector<Argument> args_;
  Workspace ws_;
};

TEST_P(FewChannelsTest, ForwardIsTheFloatResultRounded) {
  for (const std::string end : {"", "_16"}) {
    RunOp(&ws_, Op("Conv", {"X" + end, "w" + end}, {"Y" + end}, args_));
  }
  ExpectRounded("Y");
  RunOp(&ws_, Op("ConvStats", {"X", "w"}, {"Y", "sum", "squares"}, args_));
  RunOp(&ws_, Op("ConvStats", {"X_16", "w_16"}, {"Y_16", "sum_16", "squares_16"}, args_));
  ExpectRounded("Y");
}

TEST_P(FewChannelsTest, GradientsAreTheFloatOnesRounded) {
  RunOp(&ws_, Op("Conv", {"X", "w"}, {"Y"}, args_));
  const std::vector<int64_t> y = Fetch(ws_, "Y").sizes();
  Feed("dY", {y[0], y[3], y[1], y[2]}, 3);
  std::vector<Argument> args = args_;
  args.push_back(MakeArgument("no_bias", true));
  for (const std::string end : {"", "_16"}) {
    RunOp(&ws_, Op("ConvGradient", {"X" + end, "w" + end, "dY" + end}, {"dw" + end, "dX" + end},
                   args));
  }
  ExpectRounded("dw");
  ExpectRounded("dX");
}

INSTANTIATE_TEST_SUITE_P(Shapes, FewChannelsTest,
                         ::testing::Values(Shape{3, 7, 7, 2, {3, 3, 3, 3}},
                                           Shape{3, 3, 3, 1, {1, 1, 1, 1}},
                                           Shape{1, 5, 5, 1, {0, 0, 0, 0}},
                                           Shape{1, 4, 3, 2, {1, 0, 2, 1}},
                                           Shape{4, 3, 5, 2, {0, 2, 1, 1}},
                                           Shape{4, 1, 2, 1, {0, 1, 0, 0}},
                                           Shape{3, 2, 2, 2, {0, 0, 0, 0}}));

}  // namespace
}  // namespace caffe2::testing
