#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(NormalizeTest, DividesByNorms) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {3, 4, 0, 0});
  RunOp(&ws, Op("Normalize", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {0.6f, 0.8f, 0, 0});
  RunOp(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 0)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 1, 0, 0});
  Feed<float>(&ws, "X", {2, 2}, {3, -1, 0, 0});
  RunOp(&ws, Op("NormalizeL1", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {0.75f, -0.25f, 0, 0});
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  CheckGradient(&ws, Op("Normalize", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 1)}), {0});
  ExpectThrows(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 3)}), "3");
}

TEST(NormalizeTest, DividesLongVectors) {
  for (const int64_t n : {16, 37, 300}) {
    for (const int axis : {1, 2}) {
      Workspace ws;
      const std::vector<int64_t> dims{2, axis == 1 ? n : 3, axis == 1 ? 3 : n};
      FeedRandom(&ws, "X", dims, 1);
      const auto x = FetchValues<float>(ws, "X");
      std::vector<float> l1(x.size()), l2(x.size());
      const int64_t stride = axis == 1 ? 3 : 1;
      for (int64_t first = 0; first < 2 * 3 * n; ++first) {
        if (first / stride % n != 0) continue;  // not the first element of a vector
        double sum = 0, squares = 0;
        for (int64_t j = 0; j < n; ++j) {
          const double value = x[first + j * stride];
          sum += std::fabs(value);
          squares += value * value;
        }
        for (int64_t at = first; at < first + n * stride; at += stride) {
          l1[at] = static_cast<float>(x[at] / sum);
          l2[at] = static_cast<float>(x[at] / std::sqrt(squares));
        }
      }
      RunOp(&ws, Op("NormalizeL1", {"X"}, {"Y"}, {MakeArgument("axis", axis)}));
      ExpectTensor(ws, "Y", dims, l1, 1e-6f, 1e-6f);
      RunOp(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", axis)}));
      ExpectTensor(ws, "Y", dims, l2, 1e-6f, 1e-6f);
      if (n == 37) {
        CheckGradient(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", axis)}), {0});
      }
    }
  }
}

// Loops run across rows of up to 64 elements, 16 rows at a time; 3000 rows are shared by threads.
TEST(NormalizeTest, DividesManyShortRows) {
  for (const int64_t n : {1, 2, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65}) {
    for (const int64_t rows : {1, 15, 16, 17, 3000}) {
      Workspace ws;
      FeedRandom(&ws, "X", {rows, n}, 1);
      std::vector<float> x = FetchValues<float>(ws, "X"), y(x.size());
      std::fill_n(x.begin(), n, 0.f);
      x[n * (rows / 2)] = NAN;
      x[n * (rows - 1)] = 1e15f;
      for (int64_t r = 0; r < rows; ++r) {
        double squares = 0;
        for (int64_t i = r * n; i < (r + 1) * n; ++i) squares += double{x[i]} * x[i];
        const double norm = std::sqrt(squares) > 1e-12 ? std::sqrt(squares) : 1e-12;  // also of NaN
        for (int64_t i = r * n; i < (r + 1) * n; ++i) y[i] = static_cast<float>(x[i] / norm);
      }
      Feed(&ws, "X", {rows, n}, x);
      RunOp(&ws, Op("Normalize", {"X"}, {"Y"}));
      ExpectTensor(ws, "Y", {rows, n}, y, 1e-6f, 1e-37f);
      Feed(&ws, "X", {rows, n}, ToBFloat16(x));
      RunOp(&ws, Op("Normalize", {"X"}, {"Y"}));
      WidenBlob(&ws, "Y");
      ExpectTensor(ws, "Y", {rows, n}, y, 1e-2f, 1e-37f);
    }
  }
}

TEST(LpNormTest, SumsPowers) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, -2, 3, -4});
  const auto p = MakeArgument("p", 1);
  const auto average = MakeArgument("average", 1);
  RunOp(&ws, Op("LpNorm", {"X"}, {"Z"}));
  ExpectTensor(ws, "Z", {1}, {30});
  RunOp(&ws, Op("LpNorm", {"X"}, {"Z"}, {p, average}));
  ExpectTensor(ws, "Z", {1}, {2.5f});
  CheckGradient(&ws, Op("LpNorm", {"X"}, {"Z"}, {average}), {0});
  FeedRandom(&ws, "long", {70001}, 1);
  double sum = 0, squares = 0;
  for (const double x : FetchValues<float>(ws, "long")) {
    sum += std::fabs(x);
    squares += x * x;
  }
  RunOp(&ws, Op("LpNorm", {"long"}, {"Z"}));
  ExpectTensor(ws, "Z", {1}, {static_cast<float>(squares)}, 1e-6f, 0);
  RunOp(&ws, Op("LpNorm", {"long"}, {"Z"}, {p}));
  ExpectTensor(ws, "Z", {1}, {static_cast<float>(sum)}, 1e-6f, 0);
  CheckGradient(&ws, Op("LpNorm", {"X"}, {"Z"}, {p}), {0});
  ExpectThrows(&ws, Op("LpNorm", {"X"}, {"Z"}, {MakeArgument("p", 3)}), "1 or 2");
}

}  // namespace
}  // namespace caffe2::testing
