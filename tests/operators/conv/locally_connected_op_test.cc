#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr int64_t kImages = 2, kInputs = 4, kOutputs = 6;

// A layer over images of two axes.
struct LocallyConnectedCase {
  int64_t height, width, kernel_h, kernel_w, stride, dilation, pad, group;
};
const std::vector<LocallyConnectedCase> kCases = {{3, 4, 2, 3, 1, 1, 0, 1},
                                                  {4, 5, 3, 3, 2, 1, 1, 2},
                                                  {5, 5, 2, 2, 1, 2, 0, 1},
                                                  {3, 3, 3, 3, 1, 1, 0, 2},
                                                  {2, 3, 1, 1, 1, 1, 1, 1}};

int64_t OutputSize(int64_t size, int64_t kernel, const LocallyConnectedCase& c) {
  return (size + 2 * c.pad - c.dilation * (kernel - 1) - 1) / c.stride + 1;
}

std::vector<Argument> Arguments(const LocallyConnectedCase& c, bool nhwc) {
  return {MakeArgument<int>("kernel_h", static_cast<int>(c.kernel_h)),
          MakeArgument<int>("kernel_w", static_cast<int>(c.kernel_w)),
          MakeArgument<int>("stride", static_cast<int>(c.stride)),
          MakeArgument<int>("dilation", static_cast<int>(c.dilation)),
          MakeArgument<int>("pad", static_cast<int>(c.pad)),
          MakeArgument<int>("group", static_cast<int>(c.group)),
          MakeArgument<std::string>("order", OrderName(nhwc))};
}

// Feeds X and a filter, which is given as positions x M x C / group x kernel.
void FeedCase(Workspace* ws, const LocallyConnectedCase& c, const std::vector<float>& x,
              const std::vector<float>& filter, bool nhwc) {
  const int64_t rows = OutputSize(c.height, c.kernel_h, c),
                columns = OutputSize(c.width, c.kernel_w, c), depth = kInputs / c.group;
  FeedImage(ws, "X", {kImages, kInputs, c.height, c.width}, x, nhwc);
  std::vector<int64_t> dims = {rows, columns, kOutputs, depth, c.kernel_h, c.kernel_w};
  if (!nhwc) return Feed(ws, "W", dims, filter);
  dims = {rows, columns, kOutputs, c.kernel_h, c.kernel_w, depth};
  Feed(ws, "W", dims, ToNHWC({rows * columns * kOutputs, depth, c.kernel_h, c.kernel_w}, filter));
}

TEST(LocallyConnectedTest, MatchesReferenceInBothOrders) {
  for (const LocallyConnectedCase& c : kCases) {
    const int64_t rows = OutputSize(c.height, c.kernel_h, c),
                  columns = OutputSize(c.width, c.kernel_w, c), depth = kInputs / c.group;
    const int64_t window = c.kernel_h * c.kernel_w;
    const auto x = RandomValues(kImages * kInputs * c.height * c.width, 1);
    const auto filter = RandomValues(rows * columns * kOutputs * depth * window, 2);
    const auto bias = RandomValues(rows * columns * kOutputs, 3);
    std::vector<float> y;
    for (int64_t n = 0; n < kImages; ++n) {
      for (int64_t m = 0; m < kOutputs; ++m) {
        for (int64_t p = 0; p < rows * columns; ++p) {
          double sum = bias[p * kOutputs + m];
          for (int64_t k = 0; k < depth * window; ++k) {
            const int64_t channel = m / (kOutputs / c.group) * depth + k / window;
            const int64_t row =
                p / columns * c.stride - c.pad + k % window / c.kernel_w * c.dilation;
            const int64_t column = p % columns * c.stride - c.pad + k % c.kernel_w * c.dilation;
            if (row < 0 || row >= c.height || column < 0 || column >= c.width) continue;
            sum += x[((n * kInputs + channel) * c.height + row) * c.width + column] *
                   filter[(p * kOutputs + m) * depth * window + k];
          }
          y.push_back(static_cast<float>(sum));
        }
      }
    }
    for (const bool nhwc : {false, true}) {
      for (const char* type : {"LC", "LC2D"}) {
        Workspace ws;
        FeedCase(&ws, c, x, filter, nhwc);
        Feed(&ws, "b", {rows, columns, kOutputs}, bias);
        const OperatorDef op = Op(type, {"X", "W", "b"}, {"Y"}, Arguments(c, nhwc));
        RunOp(&ws, op);
        ExpectImage(ws, "Y", {kImages, kOutputs, rows, columns}, y, nhwc);
        CheckGradient(&ws, op, {0, 1, 2});
        CheckGradient(&ws, Op(type, {"X", "W"}, {"Y"}, Arguments(c, nhwc)), {0, 1});
      }
    }
  }
}

TEST(LocallyConnectedTest, OneAndThreeAxes) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 1, 3}, {1, 2, 3});
  Feed<float>(&ws, "W", {2, 1, 1, 2}, {1, 10, 100, 1000});
  const OperatorDef line =
      Op("LC1D", {"X", "W"}, {"Y"}, {MakeArgument("kernels", std::vector<int>{2})});
  RunOp(&ws, line);
  ExpectTensor(ws, "Y", {1, 1, 2}, {21, 3200});
  FeedRandom(&ws, "X", {1, 2, 5}, 1);
  FeedRandom(&ws, "W", {4, 3, 2, 2}, 2);
  CheckGradient(&ws, line, {0, 1});

  FeedRandom(&ws, "X", {2, 2, 2, 3, 2}, 1);
  FeedRandom(&ws, "W", {1, 2, 1, 3, 2, 2, 2, 2}, 2);
  FeedRandom(&ws, "b", {1, 2, 1, 3}, 3);
  const OperatorDef volume =
      Op("LC3D", {"X", "W", "b"}, {"Y"}, {MakeArgument("kernels", std::vector<int>{2, 2, 2})});
  RunOp(&ws, volume);
  const auto x = FetchValues<float>(ws, "X"), w = FetchValues<float>(ws, "W"),
             b = FetchValues<float>(ws, "b");
  Floats expected;
  for (int64_t i = 0; i < 12; ++i) {
    const int64_t image = i / 6, output = i / 2 % 3, at = i % 2;  // position (0, at, 0)
    double sum = b[at * 3 + output];
    for (int64_t c = 0; c < 2; ++c) {
      for (int64_t k = 0; k < 8; ++k) {
        sum += x[((image * 2 + c) * 2 + k / 4) * 6 + (at + k / 2 % 2) * 2 + k % 2] *
               w[((at * 3 + output) * 2 + c) * 8 + k];
      }
    }
    expected.push_back(static_cast<float>(sum));
  }
  ExpectTensor(ws, "Y", {2, 3, 1, 2, 1}, expected, 0, 1e-5f);
  CheckGradient(&ws, volume, {0, 1, 2});
}

TEST(LocallyConnectedTest, NoGradientOfDataWhereNoneIsAskedFor) {
  GradientWrapper gradient;
  gradient.dense = "Y_grad";
  const auto meta =
      GetGradientForOp(Op("LC", {"X", "W", "b"}, {"Y"},
                          {MakeArgument("kernel", 1), MakeArgument("no_gradient_to_input", 1)}),
                       {gradient});
  ASSERT_EQ(meta.ops.size(), 1u);
  EXPECT_EQ(meta.ops[0].output_size(), 2);
}

TEST(LocallyConnectedTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 2, 3, 3}, 1);
  FeedRandom(&ws, "W", {2, 2, 3, 2, 2, 2}, 2);
  FeedRandom(&ws, "shared", {3, 2, 2, 2}, 2);
  FeedRandom(&ws, "b", {3}, 3);
  const auto op = [](const std::vector<std::string>& inputs, std::vector<Argument> args) {
    args.push_back(MakeArgument("kernel", 2));
    return Op("LC", inputs, {"Y"}, args);
  };
  ExpectThrows(&ws, op({"X", "shared"}, {}), "6 axes");
  ExpectThrows(&ws, op({"X", "W"}, {MakeArgument("pad", 1)}), "ask for [4, 4, 3, 2, 2, 2]");
  ExpectThrows(&ws, op({"X", "W"}, {MakeArgument("group", 2)}), "argument group (2)");
  ExpectThrows(&ws, op({"X", "W", "b"}, {}), "the bias must have shape");
  ExpectThrows(&ws, op({"X", "W"}, {MakeArgument("global_pooling", 1)}), "global_pooling");
  ExpectThrows(&ws, Op("LCGradient", {"X", "W", "X"}, {"dW"}, {MakeArgument("kernel", 2)}),
               "dY must have the shape of Y");
}

}  // namespace
}  // namespace caffe2::testing
