// Operators that look up, count and index.
#include <algorithm>
#include <set>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(GatherOpTest, ReadsRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<int32_t>(&ws, "i", {2, 2}, {2, 0, 0, 1});
  RunOp(&ws, Op("Gather", {"X", "i"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2, 2}, {5, 6, 1, 2, 1, 2, 3, 4});
  Feed<int64_t>(&ws, "i", {1}, {1});
  RunOp(&ws, Op("Gather", {"X", "i"}, {"Y"}, {MakeArgument("axis", 1)}));
  ExpectTensor(ws, "Y", {3, 1}, {2, 4, 6});
  RunOp(&ws, Op("BatchGather", {"X", "i"}, {"Y"}));
  ExpectTensor(ws, "Y", {3, 1}, {2, 4, 6});
  Feed<std::string>(&ws, "text", {2}, {"a", "b"});
  RunOp(&ws, Op("Gather", {"text", "i"}, {"Y"}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), std::vector<std::string>{"b"});
}

TEST(GatherOpTest, Gradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2, 2}, 1);
  Feed<int32_t>(&ws, "i", {4}, {1, 0, 1, 1});
  CheckGradient(&ws, Op("Gather", {"X", "i"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Gather", {"X", "i"}, {"Y"}, {MakeArgument("dense_gradient", 1)}), {0});
  CheckGradient(&ws, Op("Gather", {"X", "i"}, {"Y"}, {MakeArgument("axis", 2)}), {0});
  CheckGradient(&ws, Op("BatchGather", {"X", "i"}, {"Y"}), {0});
  // Each element of the batch with indices of its own.
  const auto outer = MakeArgument("match_outer", 1);
  Feed<int32_t>(&ws, "own", {3, 3}, {0, 1, 1, 1, 1, 0, 0, 0, 0});
  RunOp(&ws, Op("BatchGather", {"X", "own"}, {"Y"}, {outer}));
  const auto x = FetchValues<float>(ws, "X");
  std::vector<float> expected;
  for (int b = 0; b < 3; ++b) {
    for (int i = 0; i < 3; ++i) {
      const int row = FetchValues<int32_t>(ws, "own")[b * 3 + i];
      for (int j = 0; j < 2; ++j) expected.push_back(x[(b * 2 + row) * 2 + j]);
    }
  }
  ExpectTensor(ws, "Y", {3, 3, 2}, expected);
  CheckGradient(&ws, Op("BatchGather", {"X", "own"}, {"Y"}, {outer}), {0});
  CheckGradient(&ws, Op("Gather", {"X", "own"}, {"Y"}, {outer, MakeArgument("axis", 1)}), {0});
  ExpectThrows(&ws, Op("BatchGather", {"X", "i"}, {"Y"}, {outer}),
               "must be the same as in the data");
  GradientWrapper dense;
  dense.dense = "dY";
  const GradientOpsMeta meta = GetGradientForOp(Op("Gather", {"X", "i"}, {"Y"}), {dense});
  EXPECT_TRUE(meta.ops.empty());
  EXPECT_EQ(meta.g_input[0].indices, "i");
  EXPECT_EQ(meta.g_input[0].values, "dY");
}

TEST(GatherOpTest, ChecksIndices) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1);
  for (const int64_t bad : {3, -1}) {
    Feed<int64_t>(&ws, "i", {2}, {0, bad});
    ExpectThrows(&ws, Op("Gather", {"X", "i"}, {"Y"}), "at position 1 is out of range for 3 rows");
    ExpectThrows(&ws, Op("BatchGather", {"X", "i"}, {"Y"}), "out of range for 2 rows");
  }
  FeedRandom(&ws, "float", {1}, 1);
  ExpectThrows(&ws, Op("Gather", {"X", "float"}, {"Y"}), "not supported");
  Feed<int64_t>(&ws, "i", {1}, {0});
  ExpectThrows(&ws, Op("Gather", {"X", "i"}, {"Y"}, {MakeArgument("axis", 2)}), "out of range");
}

TEST(OneHotOpTest, MarksColumns) {
  Workspace ws;
  Feed<int64_t>(&ws, "i", {2}, {2, 0});
  Feed<int64_t>(&ws, "n", {1}, {3});
  RunOp(&ws, Op("OneHot", {"i", "n"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {2, 3}, {0, 0, 1, 1, 0, 0});
  Feed<int64_t>(&ws, "n", {1}, {2});
  ExpectThrows(&ws, Op("OneHot", {"i", "n"}, {"Y"}), "out of range");
}

TEST(UniqueOpTest, SortsAndRemaps) {
  Workspace ws;
  Feed<int64_t>(&ws, "X", {5}, {7, -1, 7, 3, -1});
  RunOp(&ws, Op("Unique", {"X"}, {"Y", "map"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{-1, 3, 7}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "map"), (std::vector<int32_t>{2, 0, 2, 1, 0}));
  // How many there are of one or none is known before.
  Feed<int32_t>(&ws, "X", {1}, {4});
  RunOp(&ws, Op("Unique", {"X"}, {"Y", "map"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{4}));
  Feed<int32_t>(&ws, "X", {0}, {});
  RunOp(&ws, Op("Unique", {"X"}, {"Y"}));
  EXPECT_EQ(Fetch(ws, "Y").numel(), 0);
}

TEST(RangeOpTest, Counts) {
  Workspace ws;
  Feed<int32_t>(&ws, "one", {1}, {1});
  Feed<int32_t>(&ws, "five", {}, {5});
  Feed<int32_t>(&ws, "minus", {1}, {-2});
  Feed<int32_t>(&ws, "zero", {1}, {0});
  RunOp(&ws, Op("Range", {"five"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{0, 1, 2, 3, 4}));
  RunOp(&ws, Op("Range", {"one", "five"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{1, 2, 3, 4}));
  RunOp(&ws, Op("Range", {"five", "zero", "minus"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{5, 3, 1}));
  RunOp(&ws, Op("Range", {"five", "one"}, {"Y"}), true);
  EXPECT_EQ(Fetch(ws, "Y").numel(), 0);
  ExpectThrows(&ws, Op("Range", {"one", "five", "zero"}, {"Y"}), "Step size cannot be 0");
  Feed<double>(&ws, "huge", {1}, {1e300});
  ExpectThrows(&ws, Op("Range", {"huge"}, {"Y"}), "too long");

  RunOp(&ws, Op("RangeFill", {}, {"Y"}, {MakeArgument("shape", std::vector<int64_t>{2, 2})}));
  ExpectTensor(ws, "Y", {2, 2}, {0, 1, 2, 3});
  Feed<int32_t>(&ws, "lengths", {3}, {2, 0, 3});
  RunOp(&ws, Op("LengthsRangeFill", {"lengths"}, {"Y"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{0, 1, 0, 1, 2}));
  Feed<int32_t>(&ws, "lengths", {1}, {-1});
  ExpectThrows(&ws, Op("LengthsRangeFill", {"lengths"}, {"Y"}), "negative");
}

TEST(DiagonalFillOpTest, FillsTheMainDiagonal) {
  Workspace ws;
  const auto fill = [](std::vector<int64_t> shape) {
    return Op("DiagonalFill", {}, {"Y"},
              {MakeArgument("shape", shape), MakeArgument("value", 2.f)});
  };
  RunOp(&ws, fill({2, 3}));
  ExpectTensor(ws, "Y", {2, 3}, {2, 0, 0, 0, 2, 0});
  RunOp(&ws, fill({3, 2}));
  ExpectTensor(ws, "Y", {3, 2}, {2, 0, 0, 2, 0, 0});
  RunOp(&ws, fill({2, 2, 2}));
  ExpectTensor(ws, "Y", {2, 2, 2}, {2, 0, 0, 0, 0, 0, 0, 2});
  ExpectThrows(&ws, fill({3}), "two dimensions");
  ExpectThrows(&ws, fill({2, 2, 3}), "must be equal");
}

TEST(UniqueUniformFillOpTest, DrawsDifferentNumbers) {
  Workspace ws;
  Feed<float>(&ws, "like", {8}, std::vector<float>(8));
  Feed<int32_t>(&ws, "avoid", {3}, {3, 4, 99});
  RunOp(&ws, Op("UniqueUniformFill", {"like", "avoid"}, {"Y"}, {MakeArgument("max", 9)}));
  std::vector<int32_t> values = FetchValues<int32_t>(ws, "Y");
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, (std::vector<int32_t>{0, 1, 2, 5, 6, 7, 8, 9}));
  ExpectThrows(&ws, Op("UniqueUniformFill", {"like", "avoid"}, {"Y"}, {MakeArgument("max", 8)}),
               "there are fewer than 8");
  RunOp(&ws, Op("UniqueUniformFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{100}), MakeArgument("min", INT64_MIN),
                 MakeArgument("max", INT64_MAX),
                 MakeArgument("dtype", static_cast<int>(TensorProto::INT64))}));
  const auto wide = FetchValues<int64_t>(ws, "Y");
  EXPECT_EQ(std::set<int64_t>(wide.begin(), wide.end()).size(), 100u);
  ExpectThrows(&ws, Op("UniqueUniformFill", {}, {"Y"}, {MakeArgument("dtype", 1)}), "INT32");
}

TEST(SparseToDenseOpTest, SumsRows) {
  Workspace ws;
  Feed<int32_t>(&ws, "i", {3}, {2, 0, 2});
  Feed<float>(&ws, "V", {3, 2}, {1, 2, 3, 4, 5, 6});
  FeedRandom(&ws, "like", {4, 7}, 1);
  RunOp(&ws, Op("SparseToDense", {"i", "V"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {3, 2}, {3, 4, 0, 0, 6, 8});
  RunOp(&ws, Op("SparseToDense", {"i", "V", "like"}, {"Y"}));
  ExpectTensor(ws, "Y", {4, 2}, {3, 4, 0, 0, 6, 8, 0, 0});
  const OperatorDef op =
      Op("SparseToDense", {"i", "V"}, {"Y"}, {MakeArgument("output_first_dim", 3)});
  CheckGradient(&ws, op, {1});
  ExpectThrows(&ws, Op("SparseToDense", {"i", "V"}, {"Y"}, {MakeArgument("output_first_dim", 2)}),
               "out of range");
  ExpectThrows(&ws, Op("SparseToDense", {"i", "like"}, {"Y"}), "one row");
  Feed<int32_t>(&ws, "i", {3}, {2, 0, -2});
  ExpectThrows(&ws, Op("SparseToDense", {"i", "V"}, {"Y"}), "out of range");
}

TEST(EnsureDenseOpTest, MakesTheGradientDense) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1);
  RunOp(&ws, Op("EnsureDense", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {3, 2}, FetchValues<float>(ws, "X"));
  CheckGradient(&ws, Op("EnsureDense", {"X"}, {"Y"}), {0});
  GradientWrapper sparse;
  sparse.indices = "i";
  sparse.values = "v";
  Feed<int64_t>(&ws, "i", {1}, {1});
  Feed<float>(&ws, "v", {1, 2}, {5, 6});
  const GradientOpsMeta meta = GetGradientForOp(Op("EnsureDense", {"X"}, {"Y"}), {sparse});
  ASSERT_EQ(meta.ops.size(), 1u);
  RunOp(&ws, meta.ops[0]);
  ExpectTensor(ws, meta.g_input[0].dense, {3, 2}, {0, 0, 5, 6, 0, 0});
}

TEST(ShapeOpTest, AnswersQuestions) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  Feed<float>(&ws, "none", {0, 3}, {});
  RunOp(&ws, Op("Shape", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{2, 3, 4}));
  RunOp(&ws, Op("Shape", {"X"}, {"Y"}, {MakeArgument("axes", std::vector<int>{2, 0})}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{4, 2}));
  RunOp(&ws, Op("Size", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), std::vector<int64_t>{24});
  for (const bool empty : {true, false}) {
    RunOp(&ws, Op("HasElements", {empty ? "none" : "X"}, {"Y"}));
    EXPECT_EQ(*Fetch(ws, "Y").data<bool>(), !empty);
    RunOp(&ws, Op("IsEmpty", {empty ? "none" : "X"}, {"Y"}));
    EXPECT_EQ(*Fetch(ws, "Y").data<bool>(), empty);
  }
  RunOp(&ws, Op("HasElements", {"none", "X"}, {"Y"}));
  EXPECT_TRUE(*Fetch(ws, "Y").data<bool>());
  RunOp(&ws, Op("HasElements", {"none", "none"}, {"Y"}));
  EXPECT_FALSE(*Fetch(ws, "Y").data<bool>());
  ExpectThrows(&ws, Op("Shape", {"X"}, {"Y"}, {MakeArgument("axes", 3)}), "out of range");
  RunOp(&ws, Op("Free", {"X", "none"}, {"X", "none"}), true);
  EXPECT_FALSE(ws.GetBlob("X")->IsType<Tensor>());
  ExpectThrows(&ws, Op("Free", {"X"}, {"Z"}), "in place");
}

TEST(ConditionalOpTest, ChoosesRows) {
  Workspace ws;
  Tensor* condition = BlobGetMutableTensor(ws.CreateBlob("C"), Device{});
  condition->Resize(2);
  condition->mutable_data<bool>()[0] = false;
  condition->mutable_data<bool>()[1] = true;
  Feed<float>(&ws, "T", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "F", {2, 2}, {-1, -2, -3, -4});
  RunOp(&ws, Op("Conditional", {"C", "T", "F"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {-1, -2, 3, 4});
  FeedRandom(&ws, "F", {3, 2}, 1);
  ExpectThrows(&ws, Op("Conditional", {"C", "T", "F"}, {"Y"}), "differ");
  ExpectThrows(&ws, Op("Conditional", {"C", "F", "F"}, {"Y"}), "each row");
}

TEST(FindOpTest, FindsTheLastPosition) {
  Workspace ws;
  Feed<int32_t>(&ws, "index", {4}, {5, 8, 5, 9});
  Feed<int32_t>(&ws, "query", {3}, {5, 7, 9});
  RunOp(&ws, Op("Find", {"index", "query"}, {"Y"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{2, -1, 3}));
  RunOp(&ws, Op("Find", {"index", "query"}, {"Y"}, {MakeArgument("missing_value", 100)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y")[1], 100);
}

TEST(FindOpTest, LongLists) {
  Workspace ws;
  std::vector<int64_t> index, query, expected;
  for (int64_t i = 0; i < 1000; ++i) index.push_back(i * i % 331 - (int64_t{1} << 40));
  for (int64_t i = -2; i < 340; ++i) {
    query.push_back(i - (int64_t{1} << 40));
    int64_t at = -7;
    for (int64_t k = 0; k < 1000; ++k) at = index[k] == query.back() ? k : at;
    expected.push_back(at);
  }
  Feed(&ws, "index", {1000}, index);
  Feed(&ws, "query", {2, 171}, query);
  const OperatorDef op = Op("Find", {"index", "query"}, {"Y"}, {MakeArgument("missing_value", -7)});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), expected);
  Feed<int64_t>(&ws, "index", {0}, {});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), std::vector<int64_t>(342, -7));
  Feed<float>(&ws, "index", {1}, {1});
  ExpectThrows(&ws, op, "float");
}

TEST(IsMemberOfTest, LooksUpValues) {
  Workspace ws;
  Feed<int32_t>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  const auto values = MakeArgument("value", std::vector<int>{4, 2, 9});
  RunOp(&ws, Op("IsMemberOf", {"X"}, {"Y"}, {values}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y")[1], true);
  EXPECT_EQ(FetchValues<bool>(ws, "Y")[2], false);
  Feed<std::string>(&ws, "S", {2}, {"a", "b"});
  Feed<std::string>(&ws, "set", {2}, {"b", "c"});
  RunOp(&ws, Op("IsMemberOf", {"S", "set"}, {"Y"}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y")[0], false);
  EXPECT_EQ(FetchValues<bool>(ws, "Y")[1], true);
  Feed<bool>(&ws, "B", {2}, {true, false});
  Feed<bool>(&ws, "falses", {3}, {false, false, false});
  RunOp(&ws, Op("IsMemberOf", {"B", "falses"}, {"Y"}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y")[0], false);
  EXPECT_EQ(FetchValues<bool>(ws, "Y")[1], true);
  ExpectThrows(&ws, Op("IsMemberOf", {"X", "X"}, {"Y"}, {values}), "either from");
  ExpectThrows(&ws, Op("IsMemberOf", {"X"}, {"Y"}), "either from");
  Feed<float>(&ws, "F", {1}, {1});
  ExpectThrows(&ws, Op("IsMemberOf", {"F", "F"}, {"Y"}), "float");
}

}  // namespace
}  // namespace caffe2::testing
