// Merge*FeatureTensors.
#include <cstring>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// What an example has, as a list of (key, values) for each: the reference all tests build their
// records from.
struct Entry {
  int64_t key;
  Longs keys;  // of the values, where they have some
  Floats values;
};
using Record = std::vector<std::vector<Entry>>;

// Feeds a record as <name>_lengths, _keys, _values_lengths, _values_keys and _values.
void FeedRecord(Workspace* ws, const std::string& name, const Record& record) {
  Ints lengths, value_lengths;
  Longs keys, value_keys;
  Floats values;
  for (const auto& example : record) {
    lengths.push_back(static_cast<int>(example.size()));
    for (const Entry& entry : example) {
      keys.push_back(entry.key);
      value_lengths.push_back(static_cast<int>(entry.values.size()));
      value_keys.insert(value_keys.end(), entry.keys.begin(), entry.keys.end());
      values.insert(values.end(), entry.values.begin(), entry.values.end());
    }
  }
  const auto n = [](const auto& list) { return Longs{static_cast<int64_t>(list.size())}; };
  Feed(ws, name + "_lengths", n(lengths), lengths);
  Feed(ws, name + "_keys", n(keys), keys);
  Feed(ws, name + "_values_lengths", n(value_lengths), value_lengths);
  Feed(ws, name + "_values_keys", n(value_keys), value_keys);
  Feed(ws, name + "_values", n(values), values);
}

// Feeds a feature with at most one entry for each example, as FeedRecord, but that lengths has one
// element for each example, and as <name>_presence. Scalars of absent examples are -1.
void FeedSingle(Workspace* ws, const std::string& name, const Record& record) {
  std::vector<bool> present;
  Floats scalars;
  Ints lengths;
  FeedRecord(ws, name, record);
  for (const auto& example : record) {
    present.push_back(!example.empty());
    lengths.push_back(example.empty() ? 0 : static_cast<int>(example[0].values.size()));
    scalars.push_back(example.empty() ? -1 : example[0].values[0]);
  }
  const auto n = static_cast<int64_t>(record.size());
  Tensor presence({n}, CPU);
  std::copy(present.begin(), present.end(), presence.mutable_data<bool>());
  BlobGetMutableTensor(ws->CreateBlob(name + "_presence"), Device{})->CopyFrom(presence);
  Feed(ws, name + "_scalars", {n}, scalars);
  Feed(ws, name + "_lengths", {n}, lengths);
}

// Compares the blobs of a record that `outputs` names: lengths, keys, value lengths, value keys,
// values.
void ExpectRecord(const Workspace& ws, const Strings& outputs, const Record& expected) {
  Workspace reference;
  FeedRecord(&reference, "", expected);
  for (const std::string& name : outputs) {
    SCOPED_TRACE(name);
    const Tensor &actual = Fetch(ws, name), &wanted = Fetch(reference, name);
    NoteCompared(ws, name);
    ASSERT_EQ(actual.sizes(), wanted.sizes());
    ASSERT_EQ(actual.dtype(), wanted.dtype());
    EXPECT_EQ(0, std::memcmp(actual.raw_data(), wanted.raw_data(), wanted.nbytes()));
  }
}

Record Merged(const std::vector<Record>& records) {
  Record merged(records[0].size());
  for (size_t e = 0; e < merged.size(); ++e) {
    for (const Record& record : records) {
      merged[e].insert(merged[e].end(), record[e].begin(), record[e].end());
    }
  }
  return merged;
}

const Record kFirst{{{11, {111, 112}, {1, 2}}}, {}, {{11, {113}, {3}}}};
const Record kSecond{{{12, {121}, {4}}}, {{12, {122, 123}, {5, 6}}}, {}};
const Record kThird{{{13, {131}, {7}}, {14, {}, {}}}, {}, {{15, {132, 133}, {8, 9}}}};
const Argument kIds = MakeArgument("feature_ids", Longs{11, 12});

// Merges the features "a" and "b", fed by FeedSingle, as lists and as maps.
void CheckListsAndMaps(Workspace* ws, const Record& expected) {
  const OperatorDef lists =
      Op("MergeSingleListFeatureTensors",
         {"a_lengths", "a_values", "a_presence", "b_lengths", "b_values", "b_presence"},
         {"_lengths", "_keys", "_values_lengths", "_values"}, {kIds});
  RunOp(ws, lists, true);
  ExpectRecord(*ws, {"_lengths", "_keys", "_values_lengths", "_values"}, expected);
  CheckGradient(ws, lists, {1, 4}, {.outputs_with_gradient = {3}});

  const OperatorDef maps =
      Op("MergeSingleMapFeatureTensors",
         {"a_lengths", "a_values_keys", "a_values", "a_presence", "b_lengths", "b_values_keys",
          "b_values", "b_presence"},
         {"_lengths", "_keys", "_values_lengths", "_values_keys", "_values"}, {kIds});
  RunOp(ws, maps, true);
  ExpectRecord(*ws, {"_lengths", "_keys", "_values_lengths", "_values_keys", "_values"}, expected);
  CheckGradient(ws, maps, {2, 6}, {.outputs_with_gradient = {4}});
}

TEST(FeatureMergeTest, MergesListsAndMapsOfOneFeature) {
  Workspace ws;
  FeedSingle(&ws, "a", kFirst);
  FeedSingle(&ws, "b", kSecond);
  CheckListsAndMaps(&ws, Merged({kFirst, kSecond}));
}

TEST(FeatureMergeTest, MergesScalarsOfOneFeature) {
  Workspace ws;
  const Record first{{{11, {}, {1}}}, {}, {{11, {}, {3}}}};
  const Record second{{{12, {}, {4}}}, {{12, {}, {5}}}, {}};
  FeedSingle(&ws, "a", first);
  FeedSingle(&ws, "b", second);
  const OperatorDef op =
      Op("MergeSingleScalarFeatureTensors", {"a_scalars", "a_presence", "b_scalars", "b_presence"},
         {"_lengths", "_keys", "_values"}, {kIds});
  RunOp(&ws, op, true);
  ExpectRecord(ws, {"_lengths", "_keys", "_values"}, Merged({first, second}));
  CheckGradient(&ws, op, {0, 2}, {.outputs_with_gradient = {2}});

  Feed<std::string>(&ws, "g", {4}, {"p", "q", "r", "s"});
  RunOp(&ws,
        Op("MergeSingleScalarFeatureTensorsGradient", {"a_presence", "b_presence", "g"},
           {"da", "db"}),
        true);
  EXPECT_EQ(FetchValues<std::string>(ws, "da"), (Strings{"p", "", "s"}));
  EXPECT_EQ(FetchValues<std::string>(ws, "db"), (Strings{"q", "r", ""}));
  Feed<std::string>(&ws, "g", {3}, {"p", "q", "r"});
  ExpectThrows(&ws,
               Op("MergeSingleScalarFeatureTensorsGradient", {"a_presence", "b_presence", "g"},
                  {"da", "db"}),
               "each of 4 values");
}

TEST(FeatureMergeTest, MergesRecords) {
  Workspace ws;
  const std::vector<Record> records{Merged({kFirst, kSecond}), kThird};
  FeedRecord(&ws, "a", records[0]);
  FeedRecord(&ws, "b", records[1]);
  const OperatorDef lists = Op("MergeMultiListFeatureTensors",
                               {"a_lengths", "a_keys", "a_values_lengths", "a_values", "b_lengths",
                                "b_keys", "b_values_lengths", "b_values"},
                               {"_lengths", "_keys", "_values_lengths", "_values"});
  RunOp(&ws, lists, true);
  ExpectRecord(ws, {"_lengths", "_keys", "_values_lengths", "_values"}, Merged(records));
  CheckGradient(&ws, lists, {3, 7}, {.outputs_with_gradient = {3}});

  const OperatorDef maps =
      Op("MergeMultiMapFeatureTensors",
         {"a_lengths", "a_keys", "a_values_lengths", "a_values_keys", "a_values", "b_lengths",
          "b_keys", "b_values_lengths", "b_values_keys", "b_values"},
         {"_lengths", "_keys", "_values_lengths", "_values_keys", "_values"});
  RunOp(&ws, maps, true);
  ExpectRecord(ws, {"_lengths", "_keys", "_values_lengths", "_values_keys", "_values"},
               Merged(records));
  CheckGradient(&ws, maps, {4, 9}, {.outputs_with_gradient = {4}});

  const Record first{{}, {{11, {}, {1}}, {12, {}, {2}}}};
  const Record second{{{13, {}, {3}}}, {{14, {}, {4}}}};
  FeedRecord(&ws, "a", first);
  FeedRecord(&ws, "b", second);
  const OperatorDef scalars =
      Op("MergeMultiScalarFeatureTensors",
         {"a_lengths", "a_keys", "a_values", "b_lengths", "b_keys", "b_values"},
         {"_lengths", "_keys", "_values"});
  RunOp(&ws, scalars, true);
  ExpectRecord(ws, {"_lengths", "_keys", "_values"}, Merged({first, second}));
  CheckGradient(&ws, scalars, {2, 5}, {.outputs_with_gradient = {2}});
}

// What the makers make, run by itself.
TEST(FeatureMergeTest, GradientsGoBackToWhereValuesCameFrom) {
  Workspace ws;
  FeedSingle(&ws, "a", kFirst);
  FeedSingle(&ws, "b", kSecond);
  Feed<float>(&ws, "g", {6}, {1, 2, 3, 4, 5, 6});
  for (const char* type :
       {"MergeSingleListFeatureTensorsGradient", "MergeSingleMapFeatureTensorsGradient"}) {
    RunOp(&ws, Op(type, {"a_lengths", "a_presence", "b_lengths", "b_presence", "g"}, {"da", "db"}),
          true);
    ExpectTensor(ws, "da", {3}, {1, 2, 6});
    ExpectTensor(ws, "db", {3}, {3, 4, 5});
  }
  FeedRecord(&ws, "a", kFirst);
  FeedRecord(&ws, "b", kSecond);
  for (const char* type :
       {"MergeMultiListFeatureTensorsGradient", "MergeMultiMapFeatureTensorsGradient"}) {
    RunOp(&ws,
          Op(type, {"a_lengths", "a_values_lengths", "b_lengths", "b_values_lengths", "g"},
             {"da", "db"}),
          true);
    ExpectTensor(ws, "da", {3}, {1, 2, 6});
    ExpectTensor(ws, "db", {3}, {3, 4, 5});
  }
  Feed<float>(&ws, "g", {4}, {1, 2, 3, 4});
  RunOp(&ws,
        Op("MergeMultiScalarFeatureTensorsGradient", {"a_lengths", "b_lengths", "g"}, {"da", "db"}),
        true);
  ExpectTensor(ws, "da", {2}, {1, 4});
  ExpectTensor(ws, "db", {2}, {2, 3});
}

TEST(FeatureMergeTest, MergesColumnsOfAMatrix) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<uint8_t>(&ws, "bytes", {3, 2}, {1, 1, 0, 0, 0, 1});
  RunOp(&ws, Op("Cast", {"bytes"}, {"present"}, {MakeArgument("to", std::string("BOOL"))}));
  const OperatorDef op =
      Op("MergeDenseFeatureTensors", {"X", "present"}, {"_lengths", "_keys", "_values"}, {kIds});
  RunOp(&ws, op, true);
  const Record expected{{{11, {}, {1}}, {12, {}, {2}}}, {}, {{12, {}, {6}}}};
  ExpectRecord(ws, {"_lengths", "_keys", "_values"}, expected);
  CheckGradient(&ws, op, {0}, {.outputs_with_gradient = {2}});
  Feed<float>(&ws, "g", {3}, {7, 8, 9});
  RunOp(&ws, Op("MergeDenseFeatureTensorsGradient", {"present", "g"}, {"dX"}));
  ExpectTensor(ws, "dX", {3, 2}, {7, 8, 0, 0, 0, 9});
  Feed<float>(&ws, "X", {2, 3}, {1, 2, 3, 4, 5, 6});
  ExpectThrows(&ws, op, "examples x 2");
}

// Lengths of examples without the feature are not 0: the values have none of theirs.
TEST(FeatureMergeTest, AbsentExamplesHaveNoValues) {
  Workspace ws;
  const Record record{{}, {{11, {113, 114}, {3, 4}}}, {}, {{11, {115}, {5}}}};
  FeedSingle(&ws, "a", record);
  FeedSingle(&ws, "b", {{}, {}, {{12, {121}, {6}}}, {}});
  Feed<int32_t>(&ws, "a_lengths", {4}, {2, 2, 7, 1});
  CheckListsAndMaps(&ws, {{}, {{11, {113, 114}, {3, 4}}}, {{12, {121}, {6}}}, {{11, {115}, {5}}}});
  Feed<float>(&ws, "g", {4}, {1, 2, 3, 4});
  for (const char* type :
       {"MergeSingleListFeatureTensorsGradient", "MergeSingleMapFeatureTensorsGradient"}) {
    RunOp(&ws, Op(type, {"a_lengths", "a_presence", "b_lengths", "b_presence", "g"}, {"da", "db"}));
    ExpectTensor(ws, "da", {3}, {1, 2, 4});
    ExpectTensor(ws, "db", {1}, {3});
  }
  // With those that its lengths tell of.
  Feed<float>(&ws, "a_values", {12}, std::vector<float>(12, 1));
  ExpectThrows(&ws,
               Op("MergeSingleListFeatureTensors", {"a_lengths", "a_values", "a_presence"},
                  {"_lengths", "_keys", "_values_lengths", "_values"},
                  {MakeArgument("feature_ids", Longs{11})}),
               "must be 3 elements");
}

TEST(FeatureMergeTest, RefusesWhatDoesNotFit) {
  Workspace ws;
  FeedSingle(&ws, "a", kFirst);
  FeedSingle(&ws, "b", Record(kSecond.begin(), kSecond.begin() + 2));
  const Strings inputs{"a_lengths", "a_values", "a_presence",
                       "b_lengths", "b_values", "b_presence"};
  const Strings outputs{"_lengths", "_keys", "_values_lengths", "_values"};
  const std::string type = "MergeSingleListFeatureTensors";
  ExpectThrows(&ws, Op(type, inputs, outputs, {kIds}),
               "all features must have the same number of examples: feature 1 has");
  ExpectThrows(&ws, Op(type, inputs, outputs, {MakeArgument("feature_ids", Longs{1})}),
               "feature_ids must have one id for each of the 2 features, found 1");
  FeedSingle(&ws, "b", kSecond);
  Feed<double>(&ws, "b_values", {3}, {1, 2, 3});
  ExpectThrows(&ws, Op(type, inputs, outputs, {kIds}), "elements of float");
  Feed<float>(&ws, "b_values", {2}, {1, 2});
  ExpectThrows(&ws, Op(type, inputs, outputs, {kIds}), "must be 3 elements");
  Feed<int32_t>(&ws, "b_lengths", {3}, {1, -2, 0});
  ExpectThrows(&ws, Op(type, inputs, outputs, {kIds}), "-2");
}

}  // namespace
}  // namespace caffe2::testing
