// Datasets, records, maps, indices, strings and text files.
#include <algorithm>

#include "tests/operators/dataset/dataset_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST_F(DatasetTest, IsReadInBatches) {
  const OperatorDef read = Op("ReadNextBatch", With({"c"}), batch, {MakeArgument("batch_size", 2)});
  RunOp(&ws, read, true);
  ExpectBatch({1, 2}, {1, 2}, {10, 20, 30}, {2, 1, 1}, {1, 2, 3, 4});
  CopySerialized(&ws, "c", "c");
  RunOp(&ws, read, true);
  ExpectBatch({3}, {0}, {}, {}, {});
  RunOp(&ws, read, true);
  ExpectBatch({}, {}, {}, {}, {});
  RunOp(&ws, Op("ResetCursor", {"c"}, {}));
  const OperatorDef one = Op("ReadNextBatch", With({"c"}), batch);
  RunOp(&ws, one, true);
  ExpectBatch({1}, {1}, {10}, {2}, {1, 2});
  RunOp(&ws, one, true);
  ExpectBatch({2}, {2}, {20, 30}, {1, 1}, {3, 4});
  RunOp(&ws,
        Op("ReadNextBatch", With({"c"}), batch,
           {MakeArgument("batch_size", 2), MakeArgument("enforce_batch_size", 1)}),
        true);
  ExpectBatch({}, {}, {}, {}, {});
  ExpectThrows(&ws, Op("ReadNextBatch", {"c", "a"}, {"a2"}), "one output for each of the");
}

TEST_F(DatasetTest, IsReadInAGivenOrder) {
  RunOp(&ws, Op("ComputeOffset", With({"c"}), {"offsets"}), true);
  EXPECT_EQ(Fetch(ws, "offsets").sizes(), (Longs{4, 3}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "offsets"), (Longs{0, 0, 0, 1, 1, 2, 2, 3, 4, 3, 3, 4}));
  Feed<int64_t>(&ws, "order", {3}, {1, 2, 0});
  const OperatorDef read = Op("ReadRandomBatch", With({"c", "order", "offsets"}), batch,
                              {MakeArgument("batch_size", 2)});
  RunOp(&ws, read, true);
  ExpectBatch({2, 3}, {2, 0}, {20, 30}, {1, 1}, {3, 4});
  ExpectThrows(&ws, Op("ReadNextBatch", With({"c"}), batch), "reset it before ReadNextBatch");
  RunOp(&ws, read, true);
  ExpectBatch({1}, {1}, {10}, {2}, {1, 2});
  RunOp(&ws, read, true);
  ExpectBatch({}, {}, {}, {}, {});
  RunOp(
      &ws,
      Op("ReadRandomBatch", With({"c", "order", "offsets"}), batch, {MakeArgument("loop_over", 1)}),
      true);
  ExpectBatch({2}, {2}, {20, 30}, {1, 1}, {3, 4});
  Feed<int64_t>(&ws, "order", {1}, {3});
  RunOp(&ws, Op("ResetCursor", {"c"}, {}));
  ExpectThrows(&ws, read, "index 3");
}

TEST_F(DatasetTest, BatchesAreSortedAndShuffled) {
  const int n = 50, batch_size = 5;
  Ints keys;
  for (int i = 0; i < n; ++i) keys.push_back(i * 37 % n);  // each once
  Feed(&ws, "keys", {n}, keys);
  RunOp(&ws, Op("CreateTreeCursor", {}, {"cursor"}, {MakeArgument("fields", Strings{"keys"})}),
        true);
  OperatorDef shuffle =
      Op("SortAndShuffle", {"cursor", "keys"}, {"order"},
         {MakeArgument("sort_by_field_idx", 0), MakeArgument("batch_size", batch_size),
          MakeArgument("shuffle_size", 10)});
  shuffle.mutable_device_option()->set_random_seed(1);
  RunOp(&ws, shuffle, true);
  Longs order = FetchValues<int64_t>(ws, "order");
  Longs all_sorted(n);
  for (int i = 0; i < n; ++i) all_sorted[i] = i;
  std::sort(all_sorted.begin(), all_sorted.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  EXPECT_NE(order, all_sorted);
  NoteCompared(ws, "order");
  // One group: each batch is a run of the sorted order.
  for (int i = 0; i < n; i += batch_size) {
    const auto at = std::find(all_sorted.begin(), all_sorted.end(), order[i]);
    EXPECT_TRUE(std::equal(order.begin() + i, order.begin() + i + batch_size, at)) << i;
  }
  std::sort(order.begin(), order.end());
  for (int i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
  ExpectThrows(&ws, Op("SortAndShuffle", {"cursor", "keys"}, {"order"}),
               "argument sort_by_field_idx (1) must be the index");
}

TEST_F(DatasetTest, IsCheckedAndTrimmed) {
  const OperatorDef check = Op("CheckDatasetConsistency", columns, {}, {fields});
  RunOp(&ws, check);
  RunOp(&ws, Op("TrimDataset", columns, columns, {fields, MakeArgument("multiple_of", 2)}), true);
  RunOp(&ws, check);
  EXPECT_EQ(FetchValues<int32_t>(ws, "a"), (Ints{1, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "n"), (Ints{1, 2}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "k"), (Longs{10, 20, 30}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "m"), (Ints{2, 1, 1}));
  EXPECT_EQ(FetchValues<float>(ws, "x"), (std::vector<float>{1, 2, 3, 4}));
  Feed<int32_t>(&ws, "n", {2}, {1, 1});
  ExpectThrows(&ws, check, "field \"list:values:key\" must have");
  Feed<int32_t>(&ws, "n", {2}, {1, 9});
  ExpectThrows(&ws, check, "list:values");
  Feed<int32_t>(&ws, "n", {2}, {1, -1});
  ExpectThrows(&ws, check,
               "a length must not be negative, found -1 at position 1 of field \"list:lengths\"");
  ExpectThrows(&ws, Op("CreateTreeCursor", {}, {"c"}, {MakeArgument("fields", Strings{"b", "b"})}),
               "occurs twice");
}

}  // namespace
}  // namespace caffe2::testing
