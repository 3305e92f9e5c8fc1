#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BatchSparseToDenseTest, WritesEntriesAndReadsThem) {
  Workspace ws;
  Feed<int32_t>(&ws, "L", {3}, {2, 0, 1});
  Feed<int64_t>(&ws, "I", {3}, {3, 0, 1});
  Feed<float>(&ws, "V", {3}, {1, 2, 3});
  const std::vector<Argument> args{MakeArgument("dense_last_dim", 4),
                                   MakeArgument("default_value", 9.f)};
  const OperatorDef dense = Op("BatchSparseToDense", {"L", "I", "V"}, {"D"}, args);
  RunOp(&ws, dense);
  ExpectTensor(ws, "D", {3, 4}, {2, 9, 9, 1, 9, 9, 9, 9, 9, 3, 9, 9});
  CheckGradient(&ws, dense, {2});
  FeedRandom(&ws, "like", {3, 5}, 1);
  RunOp(&ws, Op("BatchSparseToDense", {"L", "I", "V", "like"}, {"E"}));
  ExpectTensor(ws, "E", {3, 5}, {2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0});
  const OperatorDef sparse = Op("BatchDenseToSparse", {"L", "I", "like"}, {"W"});
  const auto like = FetchValues<float>(ws, "like");
  RunOp(&ws, sparse);
  ExpectTensor(ws, "W", {3}, {like[3], like[0], like[11]});
  CheckGradient(&ws, sparse, {2});
  ExpectThrows(&ws, Op("BatchSparseToDense", {"L", "I", "V"}, {"D"}), "dense_last_dim");
  Feed<int64_t>(&ws, "I", {3}, {3, 0, 4});
  ExpectThrows(&ws, dense, "index 4 at position 2");
  Feed<int32_t>(&ws, "L", {3}, {2, 0, 2});
  ExpectThrows(&ws, dense, "lengths must add up to the");
}

TEST(BatchSparseToDenseTest, TheLastOfEqualColumnsCounts) {
  Workspace ws;
  constexpr int kColumns = 300, kEntries = 400;
  Floats values = RandomValues(2 * kEntries, 1), dense(3 * kColumns, -1.f), sparse;
  Ints columns;
  for (int e = 0; e < 2 * kEntries; ++e) {
    columns.push_back(e * 7 % 290);
    dense[(e < kEntries ? 0 : 2 * kColumns) + columns.back()] = values[e];
  }
  for (int e = 0; e < 2 * kEntries; ++e) {
    sparse.push_back(dense[(e < kEntries ? 0 : 2 * kColumns) + columns[e]]);
  }
  Feed<int64_t>(&ws, "L", {3}, {kEntries, 0, kEntries});
  Feed(&ws, "I", {2 * kEntries}, columns);
  Feed(&ws, "V", {2 * kEntries}, values);
  const OperatorDef op =
      Op("BatchSparseToDense", {"L", "I", "V"}, {"D"},
         {MakeArgument("dense_last_dim", kColumns), MakeArgument("default_value", -1.f)});
  RunOp(&ws, op);
  ExpectTensor(ws, "D", {3, kColumns}, dense, 0, 0);
  RunOp(&ws, Op("BatchDenseToSparse", {"L", "I", "D"}, {"W"}));
  ExpectTensor(ws, "W", {2 * kEntries}, sparse, 0, 0);
  Feed<int64_t>(&ws, "L", {3}, {kEntries + 1, -1, kEntries});
  ExpectThrows(&ws, op, "length 1 must not be negative");
  columns[5] = -1;
  Feed(&ws, "I", {2 * kEntries}, columns);
  Feed<int64_t>(&ws, "L", {3}, {kEntries, 0, kEntries});
  ExpectThrows(&ws, op, "index -1 at position 5");
  ExpectThrows(&ws, Op("BatchDenseToSparse", {"L", "I", "D"}, {"W"}), "index -1 at position 5");
  ExpectThrows(&ws, Op("BatchDenseToSparse", {"L", "L", "V"}, {"W"}),
               "dense must be a matrix of 3 rows, one for each length; found shape [800]");
}

}  // namespace
}  // namespace caffe2::testing
