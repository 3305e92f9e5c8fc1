#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

const std::vector<std::string> kInputs = {"c0", "c1", "c2", "index", "lengths"},
                               kOutputs = {"Y", "first", "second", "places"};

void FeedCores(Workspace* ws) {
  FeedRandom(ws, "c0", {2, 1, 2, 3}, 1);
  FeedRandom(ws, "c1", {3, 3, 1, 2}, 2);
  FeedRandom(ws, "c2", {4, 2, 3, 1}, 3);
  Feed<int32_t>(ws, "lengths", {4}, {2, 0, 3, 1});
  Feed<int64_t>(ws, "index", {6}, {0, 23, 7, 7, 18, 5});
}

TEST(TtSparseLengthsSumTest, SumsRowsThatTheCoresMake) {
  Workspace ws;
  FeedCores(&ws);
  const auto c0 = FetchValues<float>(ws, "c0"), c1 = FetchValues<float>(ws, "c1"),
             c2 = FetchValues<float>(ws, "c2");
  const auto index = FetchValues<int64_t>(ws, "index");
  std::vector<float> y(4 * 6), first;
  std::vector<int64_t> places;
  const int segment[6] = {0, 0, 2, 2, 2, 3};
  for (int i = 0; i < 6; ++i) {
    const int64_t i0 = index[i] / 12, i1 = index[i] / 4 % 3, i2 = index[i] % 4;
    places.insert(places.end(), {i0, i1, i2});
    first.insert(first.end(), c0.begin() + i0 * 6, c0.begin() + i0 * 6 + 6);
    for (int e = 0; e < 6; ++e) {  // widths 2, 1, 3
      double sum = 0;
      for (int r = 0; r < 6; ++r) {  // ranks 3, 2
        sum += c0[(i0 * 2 + e / 3) * 3 + r / 2] * c1[(i1 * 3 + r / 2) * 2 + r % 2] *
               c2[(i2 * 2 + r % 2) * 3 + e % 3];
      }
      y[segment[i] * 6 + e] += static_cast<float>(sum);
    }
  }
  const OperatorDef op = Op("TTSparseLengthsSum", kInputs, kOutputs, {MakeArgument("emb_size", 6)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {4, 6}, y);
  ExpectTensor(ws, "first", {6, 2, 3}, first);
  EXPECT_EQ(FetchValues<int64_t>(ws, "places"), places);
  CheckGradient(&ws, op, {0, 1, 2});
}

// Cores whose products are larger than a warp or block; rows of cores that many indices share.
TEST(TtSparseLengthsSumTest, LargeCores) {
  constexpr int kRows = 5, kRank = 12, kWidth = 6, kIndices = 40;
  Workspace ws;
  FeedRandom(&ws, "c0", {kRows, 1, kWidth, kRank}, 1);
  FeedRandom(&ws, "c1", {kRows, kRank, kWidth, kRank}, 2);
  FeedRandom(&ws, "c2", {kRows, kRank, kWidth, 1}, 3);
  std::vector<int32_t> index, lengths(20, 2);
  for (int i = 0; i < kIndices; ++i) index.push_back(i * i * 7 % (kRows * kRows * kRows));
  Feed(&ws, "index", {kIndices}, index);
  Feed(&ws, "lengths", {20}, lengths);
  const auto c0 = FetchValues<float>(ws, "c0"), c1 = FetchValues<float>(ws, "c1"),
             c2 = FetchValues<float>(ws, "c2");
  std::vector<double> sums(20 * kWidth * kWidth * kWidth);
  for (int i = 0; i < kIndices; ++i) {
    const int i0 = index[i] / kRows / kRows, i1 = index[i] / kRows % kRows, i2 = index[i] % kRows;
    for (int e = 0; e < kWidth * kWidth * kWidth; ++e) {
      const int a = e / kWidth / kWidth, b = e / kWidth % kWidth, c = e % kWidth;
      double sum = 0;
      for (int r = 0; r < kRank; ++r) {
        for (int q = 0; q < kRank; ++q) {
          sum += double{c0[(i0 * kWidth + a) * kRank + r]} *
                 c1[((i1 * kRank + r) * kWidth + b) * kRank + q] *
                 c2[(i2 * kRank + q) * kWidth + c];
        }
      }
      sums[i / 2 * kWidth * kWidth * kWidth + e] += sum;
    }
  }
  const OperatorDef op = Op("TTSparseLengthsSum", kInputs, kOutputs,
                            {MakeArgument("emb_size", kWidth * kWidth * kWidth)});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {20, kWidth * kWidth * kWidth}, {sums.begin(), sums.end()}, 1e-4f, 1e-4f);
  // The function is linear in each core: of the gradient of sum(Y^2) / 2, what each core's own
  // elements weigh is sum(Y^2).
  RunOp(&ws, Op("TTSparseLengthsSumGradient",
                {"c0", "c1", "c2", "lengths", "first", "second", "places", "Y"}, {"a", "b", "c"}));
  double squares = 0;
  for (const double y : sums) squares += y * y;
  for (const auto& [core, gradient] : {std::pair{"c0", "a"}, {"c1", "b"}, {"c2", "c"}}) {
    const auto x = FetchValues<float>(ws, core), dx = FetchValues<float>(ws, gradient);
    NoteCompared(ws, gradient);
    double product = 0;
    for (size_t i = 0; i < x.size(); ++i) product += double{x[i]} * dx[i];
    EXPECT_NEAR(product / squares, 1, 1e-4) << core;
  }
}

TEST(TtSparseLengthsSumTest, NoIndices) {
  Workspace ws;
  FeedCores(&ws);
  Feed<int32_t>(&ws, "lengths", {2}, {0, 0});
  Feed<int64_t>(&ws, "index", {0}, {});
  RunOp(&ws, Op("TTSparseLengthsSum", kInputs, kOutputs, {MakeArgument("emb_size", 6)}));
  ExpectTensor(ws, "Y", {2, 6}, std::vector<float>(12));
  RunOp(&ws, Op("TTSparseLengthsSumGradient",
                {"c0", "c1", "c2", "lengths", "first", "second", "places", "Y"}, {"a", "b", "c"}));
  ExpectTensor(ws, "b", {3, 3, 1, 2}, std::vector<float>(18));
}

TEST(TtSparseLengthsSumTest, RejectsBadInput) {
  Workspace ws;
  FeedCores(&ws);
  const auto op = [](const std::vector<std::string>& inputs, std::vector<Argument> args = {}) {
    args.push_back(MakeArgument("emb_size", 6));
    return Op("TTSparseLengthsSum", inputs, kOutputs, args);
  };
  ExpectThrows(&ws, op({"c1", "c1", "c2", "index", "lengths"}), "core 0");
  ExpectThrows(&ws, op({"c0", "c2", "c2", "index", "lengths"}), "core 1");
  ExpectThrows(&ws, op(kInputs, {MakeArgument("factor_i", std::vector<int>{2, 3, 5})}), "factor_i");
  ExpectThrows(&ws, op(kInputs, {MakeArgument("factor_j", std::vector<int>{2})}), "factor_j");
  ExpectThrows(&ws, op(kInputs, {MakeArgument("ranks", std::vector<int>{1, 3, 3, 1})}), "ranks");
  ExpectThrows(&ws, Op("TTSparseLengthsSum", kInputs, kOutputs), "emb_size");
  Feed<int64_t>(&ws, "far", {6}, {0, 1, 2, 3, 4, 24});
  ExpectThrows(&ws, op({"c0", "c1", "c2", "far", "lengths"}), "index 24");
  Feed<int32_t>(&ws, "short", {1}, {5});
  ExpectThrows(&ws, op({"c0", "c1", "c2", "index", "short"}), "lengths must add up to the");
  Feed<int64_t>(&ws, "short", {4}, {2, 0, 3, 1});
  ExpectThrows(&ws, op({"c0", "c1", "c2", "index", "short"}), "int");
  RunOp(&ws, op(kInputs));
  const OperatorDef gradient =
      Op("TTSparseLengthsSumGradient",
         {"c0", "c1", "c2", "lengths", "first", "second", "places", "Y"}, {"a", "b", "c"});
  Feed<int32_t>(&ws, "lengths", {4}, {2, 0, 3, 2});
  ExpectThrows(&ws, gradient, "lengths must add up to the");
  Feed<int32_t>(&ws, "lengths", {4}, {2, 0, 3, 1});
  Feed<int64_t>(&ws, "places", {6, 3}, std::vector<int64_t>(18, 2));
  ExpectThrows(&ws, gradient, "index 2 at position");
}

}  // namespace
}  // namespace caffe2::testing
