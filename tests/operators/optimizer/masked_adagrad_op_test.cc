#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr float kMaskedLr = -0.1f, kMaskedEpsilon = 1e-3f;

class MaskedAdagradTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Feed<float>(&ws_, "p", {3, 4}, {5, 1, -2, 3, 0.5f, -4, 6, 7, 8, 0.1f, -9, 10});
    FeedRandom(&ws_, "h", {3, 4}, 1, 0, 1);
    FeedRandom(&ws_, "hr", {3}, 2, 0, 1);
    FeedRandom(&ws_, "g", {3, 4}, 3);
    Feed<float>(&ws_, "lr", {1}, {kMaskedLr});
    Feed<bool>(&ws_, "same", {1}, {false});
    Feed<bool>(&ws_, "changed", {1}, {true});
    Feed<int64_t>(&ws_, "it", {1}, {4});
    p_ = FetchValues<float>(ws_, "p");
    h_ = FetchValues<float>(ws_, "h");
    g_ = FetchValues<float>(ws_, "g");
  }
  // Adagrad of the element i with the gradient j.
  void Update(size_t i, size_t j) {
    h_[i] += g_[j] * g_[j];
    p_[i] += kMaskedLr * g_[j] / (std::sqrt(h_[i]) + kMaskedEpsilon);
  }
  void Clear(const std::vector<size_t>& elements) {
    for (const size_t i : elements) p_[i] = h_[i] = 0;
  }
  static std::vector<Argument> Arguments(std::vector<Argument> more = {}) {
    more.push_back(MakeArgument("epsilon", kMaskedEpsilon));
    return more;
  }
  void ExpectState() {
    ExpectTensor(ws_, "p", {3, 4}, p_);
    ExpectTensor(ws_, "h", {3, 4}, h_);
  }
  Workspace ws_;
  std::vector<float> p_, h_, g_;
};

const std::vector<Argument> kPlan{MakeArgument("delays", std::vector<int>{4, 6}),
                                  MakeArgument("prune_ratios", std::vector<float>{0.25f, 0.5f})};

TEST_F(MaskedAdagradTest, DenseMask) {
  Feed<float>(&ws_, "mask", {3, 4}, {1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0});
  RunOp(&ws_, Op("MaskedAdagrad", {"p", "h", "g", "lr", "mask"}, {"p", "h"}, Arguments()));
  for (size_t i = 0; i < 12; ++i) Update(i, i);
  Clear({1, 6, 11});
  ExpectState();
  Feed<float>(&ws_, "mask", {3}, {1, 0, 1});
  ExpectThrows(
      &ws_, Op("MaskedAdagrad", {"p", "h", "g", "lr", "mask"}, {"p", "h"}),
      "mask must have as many elements as the parameter: mask has shape [3], the parameter [3, 4]");
}

TEST_F(MaskedAdagradTest, DensePlan) {
  Feed<float>(&ws_, "mask", {0}, {});
  Feed<int64_t>(&ws_, "last", {1}, {-1});
  const OperatorDef op = Op("MaskedAdagrad", {"p", "h", "g", "lr", "mask", "it", "last"},
                            {"p", "h", "mask", "last"}, Arguments(kPlan));
  Feed<int64_t>(&ws_, "it", {1}, {3});  // not yet
  RunOp(&ws_, op, true);
  for (size_t i = 0; i < 12; ++i) Update(i, i);
  ExpectState();
  Feed<int64_t>(&ws_, "it", {1}, {4});
  RunOp(&ws_, op, true);
  for (size_t i = 0; i < 12; ++i) Update(i, i);
  Clear({1, 4, 9});  // the least of twelve
  ExpectState();
  EXPECT_EQ(FetchValues<int64_t>(ws_, "last"), std::vector<int64_t>{4});
  Feed<int64_t>(&ws_, "it", {1}, {5});  // the mask stays
  RunOp(&ws_, op, true);
  for (size_t i = 0; i < 12; ++i) Update(i, i);
  Clear({1, 4, 9});
  ExpectState();
  ExpectThrows(&ws_, Op("MaskedAdagrad", {"p", "h", "g", "lr", "mask"}, {"p", "h"}, kPlan),
               "with the argument delays there must be 7 inputs and 4 outputs, found 5 and 2");
}

TEST_F(MaskedAdagradTest, SparseBits) {
  Feed<int32_t>(&ws_, "i", {2}, {2, 0});
  FeedRandom(&ws_, "g", {2, 4}, 3);
  g_ = FetchValues<float>(ws_, "g");
  // Blocks of two elements: row 0 keeps the second, rows 1 and 2 the first.
  Feed<uint8_t>(&ws_, "mask", {3, 1}, {2, 1, 1});
  const std::vector<Argument> args = Arguments({MakeArgument("block_size", 2)});
  RunOp(&ws_,
        Op("MaskedSparseAdagrad", {"p", "h", "i", "g", "lr", "mask", "same"}, {"p", "h"}, args));
  for (size_t j = 0; j < 4; ++j) {
    Update(8 + j, j);
    Update(j, 4 + j);
  }
  Clear({0, 1, 10, 11});
  ExpectState();
  RunOp(&ws_,
        Op("MaskedSparseAdagrad", {"p", "h", "i", "g", "lr", "mask", "changed"}, {"p", "h"}, args));
  for (size_t j = 0; j < 4; ++j) {
    Update(8 + j, j);
    Update(j, 4 + j);
  }
  Clear({0, 1, 10, 11, 6, 7});  // row 1, too
  ExpectState();
  ExpectThrows(&ws_,
               Op("MaskedSparseAdagrad", {"p", "h", "i", "g", "lr", "mask", "same"}, {"p", "h"},
                  {MakeArgument("block_size", 0)}),
               "block_size");
  ExpectThrows(&ws_, Op("MaskedSparseAdagrad", {"p", "h", "i", "g", "lr", "mask"}, {"p", "h"}),
               "mask_changed");
  Feed<uint8_t>(&ws_, "mask", {3}, {2, 1, 1});
  Feed<int32_t>(&ws_, "i", {2}, {2, 3});
  ExpectThrows(&ws_,
               Op("MaskedSparseAdagrad", {"p", "h", "i", "g", "lr", "mask", "same"}, {"p", "h"}),
               "index 3");
}

TEST_F(MaskedAdagradTest, SparsePlanPrunesTheWholeTable) {
  Feed<int64_t>(&ws_, "i", {1}, {1});
  FeedRandom(&ws_, "g", {1, 4}, 3);
  g_ = FetchValues<float>(ws_, "g");
  Feed<uint8_t>(&ws_, "mask", {0}, {});
  const OperatorDef op = Op("MaskedSparseAdagrad", {"p", "h", "i", "g", "lr", "mask", "same", "it"},
                            {"p", "h", "mask"}, Arguments(kPlan));
  RunOp(&ws_, op, true);
  for (size_t j = 0; j < 4; ++j) Update(4 + j, j);
  Clear({1, 4, 9});
  ExpectState();
  EXPECT_EQ(FetchValues<uint8_t>(ws_, "mask"), (std::vector<uint8_t>{0xd, 0xe, 0xd}));
  Feed<int64_t>(&ws_, "it", {1}, {5});
  RunOp(&ws_, op, true);
  for (size_t j = 0; j < 4; ++j) Update(4 + j, j);
  Clear({4});
  ExpectState();
}

TEST_F(MaskedAdagradTest, RowWise) {
  Feed<int64_t>(&ws_, "i", {1}, {1});
  FeedRandom(&ws_, "g", {1, 4}, 3);
  g_ = FetchValues<float>(ws_, "g");
  Feed<uint8_t>(&ws_, "mask", {3, 1}, {15, 9, 15});
  std::vector<float> h = FetchValues<float>(ws_, "hr");
  RunOp(&ws_, Op("MaskedRowWiseSparseAdagrad", {"p", "hr", "i", "g", "lr", "mask", "same"},
                 {"p", "hr"}, Arguments()));
  float squares = 0;
  for (const float g : g_) squares += g * g;
  h[1] += squares / 4;
  for (size_t j = 0; j < 4; ++j)
    p_[4 + j] += kMaskedLr * g_[j] / (std::sqrt(h[1]) + kMaskedEpsilon);
  p_[5] = p_[6] = 0;
  ExpectTensor(ws_, "p", {3, 4}, p_);
  ExpectTensor(ws_, "hr", {3}, h);
}

}  // namespace
}  // namespace caffe2::testing
