// Convolutions of few channels in 16 bits, which CUDA devices compute with patches
// (operators/conv/few_channels_conv.h), beside the same ones in float, which they do not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

struct Shape {
  int channels, kernel_h, kernel_w;
  std::vector<int> strides, pads;  // pads: top, left, bottom, right
  int batch = 2;
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << s.channels << " channels, " << s.kernel_h << "x" << s.kernel_w << ", strides "
       << s.strides[0] << " " << s.strides[1];
}

template <typename T>
std::vector<T> Narrowed(const std::vector<float>& values) {
  std::vector<T> result;
  for (const float value : values) {
    if constexpr (std::is_same_v<T, float16>) {
      result.push_back(ToFloat16(value));
    } else {
      result.push_back(caffe2::ToBFloat16(value));
    }
  }
  return result;
}

class FewChannelsTest : public ::testing::TestWithParam<Shape> {
 protected:
  FewChannelsTest() {
    args_ = {MakeArgument("kernels", std::vector<int>{s_.kernel_h, s_.kernel_w}),
             MakeArgument("strides", s_.strides), MakeArgument("pads", s_.pads),
             MakeArgument<std::string>("order", "NHWC")};
  }

  // The same values as float, NAME, and as T, NAME_16.
  template <typename T>
  void FeedBoth(const std::string& name, const std::vector<int64_t>& dims, int seed) {
    const std::vector<T> values = Narrowed<T>(RandomValues(CheckedNumel(dims), seed));
    std::vector<float> wide;
    for (const T value : values) wide.push_back(caffe2::ToFloat(value));
    FeedImage(&ws_, name, dims, wide, /*nhwc=*/true);
    FeedImage(&ws_, name + "_16", dims, values, /*nhwc=*/true);
  }
  // The blobs NAME and NAME_16 are equal but for the rounding of the latter.
  template <typename T>
  void ExpectRounded(const std::string& name) {
    SCOPED_TRACE(name);
    const std::vector<int64_t> dims = Fetch(ws_, name + "_16").sizes();
    std::vector<float> wide;
    for (const T value : FetchValues<T>(ws_, name + "_16")) wide.push_back(caffe2::ToFloat(value));
    testing::Feed(&ws_, "wide", dims, wide);
    ExpectTensor(ws_, "wide", Fetch(ws_, name).sizes(), FetchValues<float>(ws_, name), 0.004f,
                 2e-3f);
  }

  template <typename T>
  void CheckForward() {
    FeedBoth<T>("X", {s_.batch, s_.channels, 9, 12}, 1);
    FeedBoth<T>("w", {5, s_.channels, s_.kernel_h, s_.kernel_w}, 2);
    for (const std::string end : {"", "_16"}) {
      RunOp(&ws_, Op("Conv", {"X" + end, "w" + end}, {"Y" + end}, args_));
    }
    ExpectRounded<T>("Y");
    for (const std::string end : {"", "_16"}) {
      RunOp(&ws_, Op("ConvStats", {"X" + end, "w" + end}, {"Y" + end, "sum" + end, "squares" + end},
                     args_));
    }
    ExpectRounded<T>("Y");
    for (const std::string name : {"sum", "squares"}) {
      ExpectTensor(ws_, name + "_16", {5}, FetchValues<float>(ws_, name), 0.01f, 0.2f);
    }
  }

  template <typename T>
  void CheckGradients() {
    FeedBoth<T>("X", {s_.batch, s_.channels, 9, 12}, 1);
    FeedBoth<T>("w", {5, s_.channels, s_.kernel_h, s_.kernel_w}, 2);
    RunOp(&ws_, Op("Conv", {"X", "w"}, {"Y"}, args_));
    const std::vector<int64_t> y = Fetch(ws_, "Y").sizes();
    FeedBoth<T>("dY", {y[0], y[3], y[1], y[2]}, 3);
    std::vector<Argument> args = args_;
    args.push_back(MakeArgument("no_bias", true));
    for (const std::string end : {"", "_16"}) {
      RunOp(&ws_,
            Op("ConvGradient", {"X" + end, "w" + end, "dY" + end}, {"dw" + end, "dX" + end}, args));
    }
    ExpectRounded<T>("dw");
    ExpectRounded<T>("dX");
  }

  const Shape s_ = GetParam();
  std::vector<Argument> args_;
  Workspace ws_;
};

TEST_P(FewChannelsTest, BFloat16IsTheFloatResultRounded) { CheckForward<bfloat16>(); }
TEST_P(FewChannelsTest, BFloat16GradientsAreTheFloatOnesRounded) { CheckGradients<bfloat16>(); }
TEST_P(FewChannelsTest, Float16IsTheFloatResultRounded) {
  if (!TestsCuda() || NumDevices(CUDA) == 0) GTEST_SKIP() << "float16 is for CUDA devices";
  CheckForward<float16>();
}
TEST_P(FewChannelsTest, Float16GradientsAreTheFloatOnesRounded) {
  if (!TestsCuda() || NumDevices(CUDA) == 0) GTEST_SKIP() << "float16 is for CUDA devices";
  CheckGradients<float16>();
}

// Whole windows in a patch, and runs of rows; padding on one side, beyond the kernel, and even.
INSTANTIATE_TEST_SUITE_P(
    Shapes, FewChannelsTest,
    ::testing::Values(Shape{3, 7, 7, {2, 2}, {3, 3, 3, 3}}, Shape{3, 7, 7, {2, 1}, {2, 2, 3, 3}},
                      Shape{4, 6, 5, {3, 2}, {1, 0, 2, 1}}, Shape{4, 5, 4, {1, 2}, {2, 1, 2, 1}},
                      Shape{3, 3, 3, {1, 1}, {1, 1, 1, 1}}, Shape{1, 5, 5, {1, 1}, {0, 0, 0, 0}},
                      Shape{1, 4, 3, {2, 2}, {1, 0, 2, 1}}, Shape{2, 1, 2, {1, 1}, {0, 3, 0, 0}},
                      Shape{3, 1, 1, {2, 2}, {0, 0, 0, 0}}, Shape{4, 2, 2, {2, 3}, {3, 3, 3, 3}},
                      Shape{3, 7, 7, {2, 2}, {3, 3, 3, 3}, 0}));

}  // namespace
}  // namespace caffe2::testing
