#include "distributed/sum_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "caffe2/core/logging.h"

namespace caffe2::testing {
namespace {

// The sum as text, "((0+1)+2)"; the smaller text comes first, because additions commute.
std::string Expression(SumOrder order, int shards, int owner, int* end = nullptr) {
  std::vector<std::string> terms;
  for (int i = 0; i < shards; ++i) terms.push_back(std::to_string(i));
  int last = 0;
  for (const Addition& addition : Additions(order, shards, owner)) {
    std::string& to = terms.at(addition.to);
    std::string& from = terms.at(addition.from);
    CAFFE_ENFORCE(!to.empty() && !from.empty(), "a rank is added twice");
    to = "(" + std::min(to, from) + "+" + std::max(to, from) + ")";
    from.clear();
    last = addition.to;
  }
  if (end != nullptr) *end = last;
  return terms.at(last);
}

TEST(SumOrderTest, Expressions) {
  EXPECT_EQ(Expression(SumOrder::kDoubling, 4, 0), "((0+1)+(2+3))");
  EXPECT_EQ(Expression(SumOrder::kDoubling, 6, 0), "(((0+4)+(1+5))+(2+3))");
  EXPECT_EQ(Expression(SumOrder::kHalving, 4, 0), "((0+2)+(1+3))");
  EXPECT_EQ(Expression(SumOrder::kHalving, 8, 0), "(((0+4)+(2+6))+((1+5)+(3+7)))");
  EXPECT_EQ(Expression(SumOrder::kRing, 3, 0), "((1+2)+0)");
  EXPECT_EQ(Expression(SumOrder::kRing, 4, 2), "(((0+3)+1)+2)");
}

TEST(SumOrderTest, TreesAreTheSameForEveryOwner) {
  for (int shards = 2; shards <= 9; ++shards) {
    for (int owner = 0; owner < shards; ++owner) {
      EXPECT_EQ(Expression(SumOrder::kDoubling, shards, owner),
                Expression(SumOrder::kDoubling, shards, 0));
      int end = -1;
      Expression(SumOrder::kRing, shards, owner, &end);
      EXPECT_EQ(end, owner);
    }
  }
  for (const int shards : {2, 4, 8, 16}) {
    for (int owner = 0; owner < shards; ++owner) {
      int end = -1;
      EXPECT_EQ(Expression(SumOrder::kHalving, shards, owner, &end),
                Expression(SumOrder::kHalving, shards, 0));
      EXPECT_EQ(end, owner);
    }
  }
}

TEST(SumOrderTest, AllreduceOrderChangesWithSizeAndShards) {
  const TypeMeta type = TypeMeta::Make<float>();
  EXPECT_EQ(AllreduceOrder(64 << 10, type, 4), SumOrder::kDoubling);
  EXPECT_EQ(AllreduceOrder((64 << 10) + 1, type, 4), SumOrder::kHalving);
  EXPECT_EQ(AllreduceOrder((64 << 10) + 1, type, 3), SumOrder::kRing);
  EXPECT_EQ(AllreduceOrder(256 << 10, type, 4), SumOrder::kHalving);
  EXPECT_EQ(AllreduceOrder((256 << 10) + 1, type, 4), SumOrder::kRing);
}

}  // namespace
}  // namespace caffe2::testing
