#include <memory>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// X (m x k) times W^T (n x k), or W (k x n), plus b, in double.
std::vector<float> Reference(int m, int n, int k, const std::vector<float>& x,
                             const std::vector<float>& w, const std::vector<float>& b,
                             bool transposed) {
  std::vector<float> y;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = b[j];
      for (int l = 0; l < k; ++l) {
        sum += static_cast<double>(x[i * k + l]) * (transposed ? w[l * n + j] : w[j * k + l]);
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

struct Sizes {
  int m, n, k;
};

class FullyConnectedTest : public ::testing::TestWithParam<Sizes> {};

TEST_P(FullyConnectedTest, MatchesReference) {
  const auto [m, n, k] = GetParam();
  for (const bool transposed : {false, true}) {
    Workspace ws;
    FeedRandom(&ws, "X", {m, k}, 1);
    FeedRandom(&ws, "W", transposed ? std::vector<int64_t>{k, n} : std::vector<int64_t>{n, k}, 2);
    FeedRandom(&ws, "b", {n}, 3);
    RunOp(&ws, Op(transposed ? "FCTransposed" : "FC", {"X", "W", "b"}, {"Y"}));
    ExpectTensor(ws, "Y", {m, n},
                 Reference(m, n, k, FetchValues<float>(ws, "X"), FetchValues<float>(ws, "W"),
                           FetchValues<float>(ws, "b"), transposed),
                 1e-5f, 1e-5f);
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, FullyConnectedTest,
                         ::testing::Values(Sizes{1, 1, 1}, Sizes{2, 3, 4}, Sizes{17, 5, 33},
                                           Sizes{64, 10, 500}, Sizes{9, 1, 33}, Sizes{3, 100, 50},
                                           Sizes{0, 3, 4}));

// Weights that are converted once: in the first run, and again after the blob got another tensor.
TEST(FullyConnectedTest, ConstantWeightsAreKept) {
  for (const bool transposed : {false, true}) {
    const std::vector<int64_t> dims =
        transposed ? std::vector<int64_t>{300, 50} : std::vector<int64_t>{50, 300};
    Workspace ws;
    FeedRandom(&ws, "X", {1, 300}, 1);
    FeedRandom(&ws, "W", dims, 2);
    FeedRandom(&ws, "b", {50}, 3);
    const std::vector<float> b = FetchValues<float>(ws, "b");
    const auto op = CreateOperator(Op(transposed ? "FCTransposed" : "FC", {"X", "W", "b"}, {"Y"},
                                      {MakeArgument<int>("constant_filter", 1)}),
                                   &ws);
    const auto expect_product = [&](int m) {
      FeedRandom(&ws, "X", {m, 300}, 1);
      ASSERT_TRUE(op->Run());
      const std::vector<float> x = FetchValues<float>(ws, "X"), w = FetchValues<float>(ws, "W");
      ExpectTensor(ws, "Y", {m, 50}, Reference(m, 50, 300, x, w, b, transposed), 1e-4f, 1e-4f);
    };
    for (const int m : {8, 8, 1, 33, 8}) expect_product(m);
    // While the operator tells weights apart by their addresses, it must keep the last ones'
    // memory.
    auto* w = ws.GetBlob("W")->GetMutable<Tensor>();
    auto memory = std::make_shared<std::vector<float>>(FetchValues<float>(ws, "W"));
    w->ShareExternalPointer(std::shared_ptr<void>(memory, memory->data()), w->dtype(), w->nbytes());
    const std::weak_ptr<void> old = memory;
    expect_product(8);
    ws.GetBlob("W")->Reset();
    memory.reset();
    EXPECT_FALSE(old.expired());
    FeedRandom(&ws, "W", dims, 4);
    expect_product(8);
  }
}

TEST(FullyConnectedTest, SplitsAtAxis) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  FeedRandom(&ws, "W", {5, 2, 2}, 2);
  FeedRandom(&ws, "b", {5}, 3);
  const std::vector<float> x = FetchValues<float>(ws, "X"), w = FetchValues<float>(ws, "W"),
                           b = FetchValues<float>(ws, "b");
  for (const int axis : {2, -1}) {
    RunOp(&ws, Op("FC", {"X", "W", "b"}, {"Y"}, {MakeArgument<int>("axis", axis)}));
    ExpectTensor(ws, "Y", {2, 3, 5}, Reference(6, 5, 4, x, w, b, false));
  }
  Feed(&ws, "W2", {1, 5, 4}, w);
  RunOp(&ws, Op("FC", {"X", "W2", "b"}, {"Y"},
                {MakeArgument<int>("axis", 2), MakeArgument<int>("axis_w", 2)}));
  ExpectTensor(ws, "Y", {2, 3, 5}, Reference(6, 5, 4, x, w, b, false));
}

TEST(FullyConnectedTest, TakesBFloat16) {
  Workspace ws;
  const auto round = [](std::vector<float> values) {
    for (float& value : values) value = ToFloat(ToBFloat16(value));
    return values;
  };
  const auto feed = [&](const std::string& name, const std::vector<int64_t>& dims,
                        const std::vector<float>& values) {
    std::vector<bfloat16> rounded;
    for (const float value : values) rounded.push_back(ToBFloat16(value));
    Feed(&ws, name, dims, rounded);
  };
  const std::vector<float> x = round(RandomValues(8 * 32, 1)), w = round(RandomValues(16 * 32, 2)),
                           b = round(RandomValues(16, 3));
  feed("X", {8, 32}, x);
  feed("W", {16, 32}, w);
  feed("b", {16}, b);
  RunOp(&ws, Op("FC", {"X", "W", "b"}, {"Y"}));
  const std::vector<float> expected = Reference(8, 16, 32, x, w, b, false);
  const std::vector<bfloat16> y = FetchValues<bfloat16>(ws, "Y");
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(ToFloat(y[i]), expected[i], 0.01 * std::abs(expected[i]) + 0.01);
  }
  RunOp(&ws, Op("FCGradient", {"X", "W", "Y"}, {"dW", "db", "dX"}));
  EXPECT_EQ(Fetch(ws, "dW").sizes(), (std::vector<int64_t>{16, 32}));
}

TEST(FullyConnectedTest, GradientIsNumericOne) {
  for (const char* type : {"FC", "FCTransposed"}) {
    Workspace ws;
    FeedRandom(&ws, "X", {3, 2, 4}, 1);
    FeedRandom(&ws, "W",
               type == std::string("FC") ? std::vector<int64_t>{5, 8} : std::vector<int64_t>{8, 5},
               2);
    FeedRandom(&ws, "b", {5}, 3);
    CheckGradient(&ws, Op(type, {"X", "W", "b"}, {"Y"}), {0, 1, 2});
  }
  Workspace ws;  // large enough for the library
  FeedRandom(&ws, "X", {6, 16}, 1);
  FeedRandom(&ws, "W", {12, 16}, 2);
  FeedRandom(&ws, "b", {12}, 3);
  CheckGradient(&ws, Op("FC", {"X", "W", "b"}, {"Y"}), {0, 1, 2});
}

TEST(FullyConnectedTest, GradientMayLeaveOutTheInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1);
  FeedRandom(&ws, "W", {2, 4}, 2);
  Feed<float>(&ws, "dY", {3, 2}, {1, 2, 3, 4, 5, 6});
  RunOp(&ws, Op("FCGradient", {"X", "W", "dY"}, {"dW", "db"}));
  ExpectTensor(ws, "db", {2}, {9, 12});
}

TEST(FullyConnectedTest, CountsItsWork) {
  const std::vector<TensorShape> shapes{CreateTensorShape({64, 784}, TensorProto::FLOAT),
                                        CreateTensorShape({10, 784}, TensorProto::FLOAT),
                                        CreateTensorShape({10}, TensorProto::FLOAT)};
  const OpSchema::Cost cost =
      OpSchemaRegistry::Schema("FC")->InferCost(Op("FC", {"X", "W", "b"}, {"Y"}), shapes);
  EXPECT_EQ(cost.flops, 2u * 64 * 784 * 10 + 64 * 10);
  EXPECT_EQ(cost.bytes_written, 4u * 64 * 10);
  EXPECT_EQ(cost.params_bytes, 4u * (784 * 10 + 10));
}

TEST(FullyConnectedTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1);
  FeedRandom(&ws, "W", {2, 5}, 2);
  FeedRandom(&ws, "b", {2}, 3);
  ExpectThrows(&ws, Op("FC", {"X", "W", "b"}, {"Y"}), "[2, 5]");
  FeedRandom(&ws, "W", {2, 4}, 2);
  FeedRandom(&ws, "b", {3}, 3);
  ExpectThrows(&ws, Op("FC", {"X", "W", "b"}, {"Y"}),
               "b must have shape [2] for W of shape [2, 4], found [3]");
  FeedRandom(&ws, "b", {2}, 3);
  ExpectThrows(&ws, Op("FC", {"X", "W", "b"}, {"Y"}, {MakeArgument<int>("axis", 3)}), "axis 3");
  Feed<double>(&ws, "D", {3, 4}, std::vector<double>(12));
  ExpectThrows(&ws, Op("FC", {"D", "W", "b"}, {"Y"}), "double");
}

}  // namespace
}  // namespace caffe2::testing
