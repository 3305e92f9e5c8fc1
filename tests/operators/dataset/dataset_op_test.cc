// Datasets, records, maps, indices, strings and text files.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "caffe2/core/blob_serialization.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Strings = std::vector<std::string>;

// Writes a blob and reads it back into another one.
void Copy(Workspace* ws, const std::string& from, const std::string& to) {
  DeserializeBlob(SerializeBlob(*ws->GetBlob(from), from), ws->CreateBlob(to));
}

// Three records: a number, a list of pairs (key, list of values).
class DatasetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Feed<int32_t>(&ws, "a", {3}, {1, 2, 3});
    Feed<int32_t>(&ws, "n", {3}, {1, 2, 0});
    Feed<int64_t>(&ws, "k", {3}, {10, 20, 30});
    Feed<int32_t>(&ws, "m", {3}, {2, 1, 1});
    Feed<float>(&ws, "x", {4, 1}, {1, 2, 3, 4});
    RunOp(&ws, Op("CreateTreeCursor", {}, {"c"}, {fields}), true);
  }
  std::vector<std::string> With(std::vector<std::string> first) const {
    first.insert(first.end(), columns.begin(), columns.end());
    return first;
  }
  void ExpectBatch(const Ints& a, const Ints& n, const Longs& k, const Ints& m,
                   const std::vector<float>& x) {
    EXPECT_EQ(FetchValues<int32_t>(ws, "a2"), a);
    EXPECT_EQ(FetchValues<int32_t>(ws, "n2"), n);
    EXPECT_EQ(FetchValues<int64_t>(ws, "k2"), k);
    EXPECT_EQ(FetchValues<int32_t>(ws, "m2"), m);
    EXPECT_EQ(FetchValues<float>(ws, "x2"), x);
    EXPECT_EQ(Fetch(ws, "x2").sizes(), (Longs{static_cast<int64_t>(x.size()), 1}));
  }

  const Strings columns{"a", "n", "k", "m", "x"}, batch{"a2", "n2", "k2", "m2", "x2"};
  const Argument fields =
      MakeArgument("fields", Strings{"a", "list:lengths", "list:values:key",
                                     "list:values:inner:lengths", "list:values:inner:values"});
  Workspace ws;
};

TEST_F(DatasetTest, IsReadInBatches) {
  const OperatorDef read = Op("ReadNextBatch", With({"c"}), batch, {MakeArgument("batch_size", 2)});
  RunOp(&ws, read, true);
  ExpectBatch({1, 2}, {1, 2}, {10, 20, 30}, {2, 1, 1}, {1, 2, 3, 4});
  Copy(&ws, "c", "c");
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
  ExpectThrows(&ws, Op("ReadNextBatch", {"c", "a"}, {"a2"}), "outputs and fields");
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
  // One group: each batch is a run of the sorted order.
  for (int i = 0; i < n; i += batch_size) {
    const auto at = std::find(all_sorted.begin(), all_sorted.end(), order[i]);
    EXPECT_TRUE(std::equal(order.begin() + i, order.begin() + i + batch_size, at)) << i;
  }
  std::sort(order.begin(), order.end());
  for (int i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
  ExpectThrows(&ws, Op("SortAndShuffle", {"cursor", "keys"}, {"order"}), "sort_by_field_idx is 1");
}

TEST_F(DatasetTest, IsCheckedAndTrimmed) {
  const OperatorDef check = Op("CheckDatasetConsistency", columns, {}, {fields});
  RunOp(&ws, check);
  RunOp(&ws, Op("TrimDataset", columns, columns, {fields, MakeArgument("multiple_of", 2)}), true);
  RunOp(&ws, check);
  EXPECT_EQ(FetchValues<int32_t>(ws, "a"), (Ints{1, 2}));
  EXPECT_EQ(FetchValues<float>(ws, "x"), (std::vector<float>{1, 2, 3, 4}));
  Feed<int32_t>(&ws, "n", {2}, {1, 1});
  ExpectThrows(&ws, check, "rows of field \"list:values:key\"");
  Feed<int32_t>(&ws, "n", {2}, {1, 9});
  ExpectThrows(&ws, check, "list:values");
  Feed<int32_t>(&ws, "n", {2}, {1, -1});
  ExpectThrows(&ws, check, "length 1 of field \"list:lengths\"");
  ExpectThrows(&ws, Op("CreateTreeCursor", {}, {"c"}, {MakeArgument("fields", Strings{"b", "b"})}),
               "occurs twice");
}

TEST_F(DatasetTest, RecordsArePackedAndUnpacked) {
  RunOp(&ws, Op("PackRecords", columns, {"packed"}, {fields}), true);
  EXPECT_EQ(Fetch(ws, "packed").sizes(), Longs{3});
  Feed<int32_t>(&ws, "take", {2}, {2, 1});
  RunOp(&ws, Op("Gather", {"packed", "take"}, {"some"}));
  RunOp(&ws, Op("UnPackRecords", {"some"}, batch, {fields}), true);
  ExpectBatch({3, 2}, {0, 2}, {20, 30}, {1, 1}, {3, 4});
  Feed<int32_t>(&ws, "take", {0}, {});
  RunOp(&ws, Op("Gather", {"packed", "take"}, {"none"}));
  RunOp(&ws, Op("UnPackRecords", With({"none"}), batch, {fields}), true);
  ExpectBatch({}, {}, {}, {}, {});
  ExpectThrows(&ws, Op("UnPackRecords", {"none"}, batch, {fields}), "neither records");
}

TEST_F(DatasetTest, RecordsArePackedAsOne) {
  RunOp(&ws,
        Op("PackRecords", columns, {"packed"},
           {fields, MakeArgument("pack_to_single_shared_ptr", 1)}),
        true);
  EXPECT_EQ(Fetch(ws, "packed").sizes(), Longs{1});
  RunOp(&ws, Op("UnPackRecords", {"packed"}, batch, {fields}), true);
  ExpectBatch({1, 2, 3}, {1, 2, 0}, {10, 20, 30}, {2, 1, 1}, {1, 2, 3, 4});
}

TEST(AppendTest, GrowsTensors) {
  Workspace ws;
  Feed<float>(&ws, "X", {0, 2}, {});
  Feed<float>(&ws, "Y", {2, 2}, {1, 2, 3, 4});
  Feed<std::string>(&ws, "S", {1}, {"a"});
  Feed<std::string>(&ws, "T", {1}, {"b"});
  RunOp(&ws, Op("Append", {"X", "Y"}, {"X"}), true);
  RunOp(&ws, Op("CreateMutex", {}, {"mutex"}), true);
  RunOp(&ws, Op("AtomicAppend", {"mutex", "X", "S", "Y", "T"}, {"X", "S"}), true);
  ExpectTensor(ws, "X", {4, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  EXPECT_EQ(FetchValues<std::string>(ws, "S"), (Strings{"a", "b"}));
  Feed<float>(&ws, "wide", {1, 3}, {1, 2, 3});
  ExpectThrows(&ws, Op("Append", {"X", "wide"}, {"X"}), "[1, 3] cannot be appended");
  ExpectThrows(&ws, Op("Append", {"X", "S"}, {"X"}), "cannot be appended");
}

TEST(TensorVectorTest, CollectsASample) {
  Workspace ws;
  RunOp(&ws, Op("CreateTensorVector", {}, {"v"}), true);
  RunOp(&ws, Op("CreateTensorVector", {}, {"w"}), true);
  NetDef net;
  net.set_name("collect");
  *net.add_op() =
      Op("CollectTensor", {"v", "w", "X", "Y"}, {"v", "w"}, {MakeArgument("num_to_collect", 3)});
  for (const char* name : {"v", "w", "X", "Y"}) net.add_external_input(name);
  ws.CreateBlob("X");
  ws.CreateBlob("Y");
  ws.CreateNet(net);
  for (int i = 0; i < 10; ++i) {
    Feed<int32_t>(&ws, "X", {1}, {i});
    Feed<int32_t>(&ws, "Y", {1}, {100 + i});
    ASSERT_TRUE(ws.RunNet("collect"));
  }
  ws.DeleteNet("collect");
  RunOp(&ws,
        Op("CollectTensor", {"v", "w", "X", "Y"}, {"v", "w"}, {MakeArgument("num_to_collect", 3)}),
        true);
  Copy(&ws, "v", "v");
  RunOp(&ws, Op("TensorVectorSize", {"v"}, {"size"}));
  EXPECT_EQ(*Fetch(ws, "size").data<int32_t>(), 3);
  RunOp(&ws, Op("ConcatTensorVector", {"v"}, {"x"}), true);
  RunOp(&ws, Op("ConcatTensorVector", {"w"}, {"y"}), true);
  const Ints x = FetchValues<int32_t>(ws, "x"), y = FetchValues<int32_t>(ws, "y");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(x[i] + 100, y[i]);  // collected together
  RunOp(&ws, Op("CreateTensorVector", {}, {"v"}), true);
  ExpectThrows(&ws, Op("ConcatTensorVector", {"v"}, {"x"}), "empty");
}

TEST(MapTest, KeepsKeysAndValues) {
  Workspace ws;
  Feed<int32_t>(&ws, "k", {3}, {3, 1, 2});
  Feed<int64_t>(&ws, "v", {3}, {30, 10, 20});
  RunOp(&ws, Op("KeyValueToMap", {"k", "v"}, {"map"}), true);
  EXPECT_EQ(ws.GetBlob("map")->TypeName(), "(std::unordered_map<int32_t, int64_t>)");
  Copy(&ws, "map", "other");
  RunOp(&ws, Op("MapToKeyValue", {"other"}, {"k2", "v2"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "k2"), (Ints{1, 2, 3}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "v2"), (Longs{10, 20, 30}));
  RunOp(&ws,
        Op("CreateMap", {}, {"map"},
           {MakeArgument<int>("key_dtype", TensorProto::INT64),
            MakeArgument<int>("value_dtype", TensorProto::INT32)}),
        true);
  RunOp(&ws, Op("MapToKeyValue", {"map"}, {"k2", "v2"}), true);
  EXPECT_EQ(Fetch(ws, "k2").sizes(), Longs{0});
  EXPECT_TRUE(Fetch(ws, "k2").IsType<int64_t>());
  ExpectThrows(&ws, Op("MapToKeyValue", {"k"}, {"k2", "v2"}), "not a map");
  Feed<float>(&ws, "f", {3}, {1, 2, 3});
  ExpectThrows(&ws, Op("KeyValueToMap", {"f", "v"}, {"map"}), "not float");
  ExpectThrows(&ws, Op("CreateMap", {}, {"map"}, {MakeArgument("key_dtype", 999)}), "999");
}

TEST(IndexTest, NumbersKeys) {
  Workspace ws;
  RunOp(&ws, Op("StringIndexCreate", {}, {"i"}, {MakeArgument("max_elements", 5)}), true);
  Feed<std::string>(&ws, "k", {2, 2}, {"b", "a", "b", "c"});
  RunOp(&ws, Op("IndexGet", {"i", "k"}, {"n"}), true);
  EXPECT_EQ(Fetch(ws, "n").sizes(), (Longs{2, 2}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "n"), (Longs{1, 2, 1, 3}));
  RunOp(&ws, Op("IndexSize", {"i"}, {"size"}), true);
  EXPECT_EQ(*Fetch(ws, "size").data<int64_t>(), 4);
  RunOp(&ws, Op("IndexStore", {"i"}, {"items"}), true);
  EXPECT_EQ(FetchValues<std::string>(ws, "items"), (Strings{"b", "a", "c"}));
  Feed<std::string>(&ws, "k", {2}, {"d", "e"});
  ExpectThrows(&ws, Op("IndexGet", {"i", "k"}, {"n"}), "full at key e");
  RunOp(&ws, Op("IndexFreeze", {"i"}, {"i"}), true);
  Copy(&ws, "i", "j");
  Feed<std::string>(&ws, "k", {3}, {"d", "z", "a"});
  RunOp(&ws, Op("IndexGet", {"j", "k"}, {"n"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "n"), (Longs{4, 0, 2}));

  RunOp(&ws, Op("LongIndexCreate", {}, {"i"}), true);
  Feed<int64_t>(&ws, "items", {3}, {0, 7, 9});
  RunOp(&ws, Op("IndexLoad", {"i", "items"}, {"i"}, {MakeArgument("skip_first_entry", 1)}), true);
  Feed<int64_t>(&ws, "k", {3}, {9, 7, 8});
  RunOp(&ws, Op("IndexGet", {"i", "k"}, {"n"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "n"), (Longs{2, 1, 3}));
  Feed<int64_t>(&ws, "items", {2}, {7, 7});
  ExpectThrows(&ws, Op("IndexLoad", {"i", "items"}, {"i"}), "key 7 occurs twice");
  RunOp(&ws, Op("IntIndexCreate", {}, {"i"}), true);
  ExpectThrows(&ws, Op("IndexGet", {"i", "k"}, {"n"}), "keys of int64_t for an index of int");
}

TEST(CounterSerializationTest, KeepsTheCount) {
  Workspace ws;
  RunOp(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", 42)}), true);
  Copy(&ws, "c", "d");
  RunOp(&ws, Op("CountUp", {"d"}, {"n"}), true);
  EXPECT_EQ(*Fetch(ws, "n").data<int64_t>(), 42);
}

TEST(StringOpTest, TakeTextApart) {
  Workspace ws;
  Feed<std::string>(&ws, "S", {3}, {"abcd", "xy", ""});
  const auto strings = [&ws](const char* type, const std::vector<Argument>& args) {
    RunOp(&ws, Op(type, {"S"}, {"Y"}, args));
    return FetchValues<std::string>(ws, "Y");
  };
  const auto bools = [&ws](const char* type, const Argument& arg) {
    RunOp(&ws, Op(type, {"S"}, {"Y"}, {arg}));
    return FetchValues<bool>(ws, "Y");
  };
  EXPECT_EQ(strings("StringPrefix", {}), (Strings{"abc", "xy", ""}));
  EXPECT_EQ(strings("StringSuffix", {MakeArgument("length", 1)}), (Strings{"d", "y", ""}));
  EXPECT_EQ(bools("StringStartsWith", MakeArgument<std::string>("prefix", "ab")),
            (std::vector<bool>{true, false, false}));
  EXPECT_EQ(bools("StringEndsWith", MakeArgument<std::string>("suffix", "y")),
            (std::vector<bool>{false, true, false}));
  EXPECT_EQ(bools("StringEquals", MakeArgument<std::string>("text", "xy")),
            (std::vector<bool>{false, true, false}));
  ExpectThrows(&ws, Op("StringPrefix", {"S"}, {"Y"}, {MakeArgument("length", -1)}), "length");
  Feed<int32_t>(&ws, "I", {2, 2}, {1, 2, 3, 4});
  ExpectThrows(&ws, Op("StringPrefix", {"I"}, {"Y"}), "int");

  RunOp(&ws, Op("StringJoin", {"S"}, {"Y"}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"abcd,", "xy,", ","}));
  RunOp(&ws, Op("StringJoin", {"I"}, {"Y"}, {MakeArgument<std::string>("delimiter", "; ")}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"1; 2; ", "3; 4; "}));
  RunOp(&ws, Op("StringJoin", {"I"}, {"Y"}, {MakeArgument("axis", 1)}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"1,3,", "2,4,"}));
  ExpectThrows(&ws, Op("StringJoin", {"S"}, {"Y"}, {MakeArgument("axis", 1)}), "no axis 1");
}

class TextFileReaderTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path) << text; }
  ~TextFileReaderTest() override { unlink(path.c_str()); }
  OperatorDef Create(int passes) const {
    return Op("CreateTextFileReader", {}, {"r"},
              {MakeArgument("filename", path), MakeArgument("num_passes", passes),
               MakeArgument("field_types",
                            Ints{TensorProto::STRING, TensorProto::FLOAT, TensorProto::INT64})});
  }
  const std::string path = ::testing::TempDir() + "text_file_reader_" + std::to_string(getpid());
  Workspace ws;
};

TEST_F(TextFileReaderTest, ReadsLines) {
  Write("a\t1.5\t1\nb\\\tc\t-2\t22\nd\t3e2\t-3");
  RunOp(&ws, Create(2), true);
  const OperatorDef read =
      Op("TextFileReaderRead", {"r"}, {"s", "f", "i"}, {MakeArgument("batch_size", 4)});
  RunOp(&ws, read, true);
  EXPECT_EQ(FetchValues<std::string>(ws, "s"), (Strings{"a", "b\tc", "d", "a"}));
  ExpectTensor(ws, "f", {4}, {1.5f, -2, 300, 1.5f});
  EXPECT_EQ(FetchValues<int64_t>(ws, "i"), (Longs{1, 22, -3, 1}));
  RunOp(&ws, read, true);
  EXPECT_EQ(FetchValues<std::string>(ws, "s"), (Strings{"b\tc", "d"}));
  RunOp(&ws, read, true);
  EXPECT_EQ(Fetch(ws, "f").sizes(), Longs{0});
}

TEST_F(TextFileReaderTest, RejectsBadFiles) {
  EXPECT_THROW(ws.RunOperatorOnce(Create(1)), IoError);
  Write("a\t1\t2\nb\t3\n");
  const OperatorDef read = Op("TextFileReaderRead", {"r"}, {"s", "f", "i"});
  RunOp(&ws, Create(1), true);
  RunOp(&ws, read, true);
  ExpectThrows(&ws, read, "fields in line 2");
  Write("a\tone\t2\n");
  RunOp(&ws, Create(1), true);
  ExpectThrows(&ws, read, "\"one\" is not a float");
  Write("");
  RunOp(&ws, Create(0), true);
  ExpectThrows(&ws, read, "is empty");
  RunOp(&ws, Create(1), true);
  ExpectThrows(&ws, Op("TextFileReaderRead", {"r"}, {"s"}), "and outputs");
}

}  // namespace
}  // namespace caffe2::testing
