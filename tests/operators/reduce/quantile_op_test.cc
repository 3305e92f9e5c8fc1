#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef Quantile(const std::vector<std::string>& inputs, float quantile, bool abs) {
  return Op("Quantile", inputs, {"q"},
            {MakeArgument("quantile", quantile), MakeArgument("abs", abs)});
}

TEST(QuantileTest, IsTheElementOfItsRank) {
  Workspace ws;
  FeedRandom(&ws, "A", {3, 7}, 1);
  FeedRandom(&ws, "B", {30}, 2);
  for (const bool abs : {false, true}) {
    std::vector<float> sorted;
    for (const char* name : {"A", "B"}) {
      for (const float x : FetchValues<float>(ws, name)) sorted.push_back(abs ? std::abs(x) : x);
    }
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [quantile, rank] :
         std::vector<std::pair<float, int>>{{0, 1}, {0.01f, 1}, {0.5f, 26}, {0.75f, 39}, {1, 51}}) {
      RunOp(&ws, Quantile({"A", "B"}, quantile, abs));
      ExpectTensor(ws, "q", {1}, {sorted[rank - 1]}, 0, 0);
    }
  }
  Feed<double>(&ws, "D", {2}, {-3, 2});
  RunOp(&ws, Op("Quantile", {"D"}, {"q"}, {MakeArgument("quantile", 1.f)}));
  EXPECT_EQ(FetchValues<double>(ws, "q"), std::vector<double>{3});
}

// 0.1f and 0.2f are a little above 0.1 and 0.2, of which the rank is not to be seen.
TEST(QuantileTest, TheRankIsOfTheDecimalShare) {
  Workspace ws;
  Feed<float>(&ws, "ten", {10}, {10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  Feed<float>(&ws, "five", {5}, {5, 4, 3, 2, 1});
  RunOp(&ws, Quantile({"ten"}, 0.1f, true));
  ExpectTensor(ws, "q", {1}, {1}, 0, 0);
  RunOp(&ws, Quantile({"five"}, 0.2f, true));
  ExpectTensor(ws, "q", {1}, {1}, 0, 0);
  RunOp(&ws, Quantile({"ten"}, 0.11f, true));
  ExpectTensor(ws, "q", {1}, {2}, 0, 0);
}

TEST(QuantileTest, RejectsBadInput) {
  Workspace ws;
  Feed<float>(&ws, "none", {0}, {});
  Feed<float>(&ws, "nan", {1}, {NAN});
  Feed<double>(&ws, "D", {2}, {-3, 2});
  ExpectThrows(&ws, Quantile({"none"}, 0.5f, true), "at least one element");
  ExpectThrows(&ws, Quantile({"nan"}, 0.5f, true), "NaN");
  ExpectThrows(&ws, Quantile({"none", "D"}, 0.5f, true), "double");
  ExpectThrows(&ws, Quantile({"D"}, 1.5f, true),
               "argument quantile must be from 0 to 1, found 1.5");
  ExpectThrows(&ws, Op("Quantile", {"D"}, {"q"}), "quantile");
}

}  // namespace
}  // namespace caffe2::testing
