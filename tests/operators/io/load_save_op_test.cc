#include "operators/io/load_save_op.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "caffe2/core/blob_serialization.h"
#include "db/record_writer.h"
#include "operators/io/checkpoint_op.h"
#include "tests/db/temporary_directory.h"
#include "tests/operators/io/load_save_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST_P(LoadSaveTest, BlobsSurvive) {
  const auto many = Iota(2500000);  // three chunks
  Feed<float>(&ws_, "w", {2500, 1000}, many);
  Feed<int64_t>(&ws_, "iter", {1}, {123});
  *ws_.CreateBlob("text")->GetMutable<std::string>() = "some text";
  *ws_.CreateBlob("mutex")->GetMutable<std::unique_ptr<std::mutex>>() =
      std::make_unique<std::mutex>();
  Save({"w", "iter", "text", "mutex"}, "db");
  RunOp(&other_, LoadOp({"iter", "w", "mutex", "text"}, "db"), kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "w"), many);
  EXPECT_EQ(FetchValues<int64_t>(other_, "iter"), std::vector<int64_t>({123}));
  EXPECT_EQ(other_.GetBlob("text")->Get<std::string>(), "some text");
  EXPECT_NE(other_.GetBlob("mutex")->Get<std::unique_ptr<std::mutex>>(), nullptr);
}

TEST_P(LoadSaveTest, NamesAndPrefixes) {
  Feed<float>(&ws_, "gpu_0/w", {1}, {1});
  Feed<float>(&ws_, "gpu_0/b", {1}, {2});
  Save({"gpu_0/w", "gpu_0/b"}, "stripped", {MakeArgument<std::string>("strip_prefix", "gpu_0/")});
  RunOp(&other_, LoadOp({"w"}, "stripped"), kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "w"), Floats{1});
  RunOp(&other_,
        LoadOp({"cpu_1/b"}, "stripped", {MakeArgument<std::string>("add_prefix", "cpu_1/")}),
        kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "cpu_1/b"), Floats{2});
  Save({"gpu_0/w", "gpu_0/b"}, "overridden",
       {MakeArgument<std::vector<std::string>>("blob_name_overrides", {"first", "second"})});
  RunOp(&other_,
        LoadOp({"mine"}, "overridden",
               {MakeArgument<std::vector<std::string>>("source_blob_names", {"second"})}),
        kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "mine"), Floats{2});
  ExpectThrows(&ws_,
               Op("Save", {"gpu_0/w", "gpu_0/b"}, {},
                  DBArgs("twice", {MakeArgument<std::vector<std::string>>("blob_name_overrides",
                                                                          {"same", "same"})})),
               "same");
  ExpectThrows(&ws_,
               Op("Save", {"gpu_0/w"}, {},
                  DBArgs("two_ways",
                         {MakeArgument<std::string>("strip_prefix", "gpu_0/"),
                          MakeArgument<std::vector<std::string>>("blob_name_overrides", {"w"})})),
               "the arguments blob_name_overrides and strip_prefix cannot be used together");
}

TEST_P(LoadSaveTest, OptionsByName) {
  Feed<float>(&ws_, "a", {7}, Iota(7));
  Feed<float>(&ws_, "b", {7}, Iota(7));
  Feed<float>(&ws_, "c", {1}, {1.f + 0x1p-10f});
  SerializationOptions options;
  options.add_options()->set_blob_name_regex("a");
  options.mutable_options(0)->set_chunk_size(2);
  options.add_options()->set_blob_name_regex("[^b]");
  options.mutable_options(1)->set_float_format(BlobSerializationOptions::FLOAT_BFLOAT16);
  Save({"a", "b", "c"}, "db",
       {MakeArgument<std::string>("options", options.SerializeAsString()),
        MakeArgument<int>("chunk_size", 5)});
  std::map<std::string, int> records;
  db::DBReader(GetParam(), directory_.Path("db"))
      .Visit([&](const std::string& key, const std::string&) {
        ++records[key.substr(0, 1)];
        return true;
      });
  EXPECT_EQ(records, (std::map<std::string, int>{{"a", 4}, {"b", 2}, {"c", 1}}));
  RunOp(&other_, LoadOp({"a", "b", "c"}, "db"), kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "a"), Iota(7));
  EXPECT_EQ(FetchValues<float>(other_, "b"), Iota(7));
  EXPECT_EQ(FetchValues<float>(other_, "c"), std::vector<float>({1}));

  for (const auto& [chunk_size, count] : {std::pair(-1, 1), std::pair(0, 1), std::pair(3, 3)}) {
    const std::string name = "size" + std::to_string(chunk_size);
    Save({"a"}, name, {MakeArgument<int>("chunk_size", chunk_size)});
    int found = 0;
    db::DBReader(GetParam(), directory_.Path(name))
        .Visit([&found](const std::string&, const std::string&) { return ++found > 0; });
    EXPECT_EQ(found, count) << chunk_size;
  }
  const auto refused = [&](const Argument& arg, const std::string& reason) {
    ExpectThrows(&ws_, Op("Save", {"a"}, {}, DBArgs("bad", {arg})), reason);
  };
  refused(MakeArgument<int>("chunk_size", -2), "chunk_size");
  refused(MakeArgument<std::string>("options", "junk"), "SerializationOptions");
}

TEST_P(LoadSaveTest, LoadAllAndReaders) {
  Feed<float>(&ws_, "a", {2}, {1, 2});
  Feed<float>(&ws_, "b", {1}, {3});
  Save({"a", "b"}, "db");
  RunOp(&other_, LoadOp({}, "db", {MakeArgument<int>("load_all", 1)}), kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "a"), std::vector<float>({1, 2}));
  EXPECT_EQ(FetchValues<float>(other_, "b"), std::vector<float>({3}));
  const auto load_all = MakeArgument<int>("load_all", 1);
  RunOp(&other_, LoadOp({"b"}, "db", {load_all}), kInferenceOptional);
  ExpectThrows(&other_, LoadOp({"b", "gone"}, "db", {load_all}), "missing: gone");
  Workspace third;
  ASSERT_TRUE(third.RunOperatorOnce(Op("CreateDB", {}, {"reader"}, DBArgs("db"))));
  RunOp(&third, Op("Load", {"reader"}, {"b"}), kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(third, "b"), std::vector<float>({3}));
}

TEST_P(LoadSaveTest, SeveralDatabases) {
  Feed<float>(&ws_, "a", {1}, {1});
  Feed<float>(&ws_, "b", {1}, {2});
  Save({"a"}, "first");
  Save({"b"}, "second");
  Save({"a", "b"}, "both");
  const auto load = [&](const std::string& x, const std::string& y) {
    return Op(
        "Load", {}, {"a", "b"},
        {MakeArgument<std::vector<std::string>>("dbs", {directory_.Path(x), directory_.Path(y)}),
         MakeArgument<std::string>("db_type", GetParam()), MakeArgument<int>("absolute_path", 1)});
  };
  RunOp(&other_, load("first", "second"), kInferenceOptional);
  EXPECT_EQ(FetchValues<float>(other_, "b"), Floats{2});
  ExpectThrows(&other_, load("first", "both"), "two databases");
}

TEST_P(LoadSaveTest, MissingBlobsAreNamed) {
  Feed<float>(&ws_, "a", {1}, {1});
  Save({"a"}, "db");
  ExpectThrows(&other_, LoadOp({"a", "gone"}, "db"), "Expected to load 2 blobs, got 1 only");
  ExpectThrows(&other_, LoadOp({"a", "gone"}, "db"), "gone");
  RunOp(&other_, LoadOp({"a", "gone"}, "db", {MakeArgument<int>("allow_incomplete", 1)}),
        kInferenceOptional);
  ExpectThrows(&other_, LoadOp({"a"}, "nowhere"), "nowhere");
}

TEST_P(LoadSaveTest, AMissingChunkIsAnError) {
  Blob blob;
  blob.GetMutable<Tensor>()->CopyFrom(Tensor({4}, Iota(4)));
  std::vector<std::pair<std::string, std::string>> chunks;
  BlobSerializationOptions options;
  options.set_chunk_size(2);
  SerializeBlob(
      blob, "a",
      [&](const std::string& key, const std::string& value) { chunks.emplace_back(key, value); },
      options);
  {
    db::RecordWriter writer(GetParam(), directory_.Path("part"));
    writer.Add(chunks[0].first, chunks[0].second);
    writer.Finish();
  }
  ExpectThrows(&other_, LoadOp({"a"}, "part"), "not complete");
  {
    db::RecordWriter writer(GetParam(), directory_.Path("overlap"));
    for (const std::string key : {"a#%0", "a#%1", "a#%2"}) writer.Add(key, chunks[0].second);
    writer.Finish();
  }
  ExpectThrows(&other_, LoadOp({"a"}, "overlap"), "overlap");
}

TEST_P(LoadSaveTest, RelativePathsBeginAtTheRootFolder) {
  std::filesystem::create_directory(directory_.Path("root"));
  Workspace rooted(directory_.Path("root"));
  Feed<float>(&rooted, "a", {1}, {1});
  const std::vector<Argument> args = {MakeArgument<std::string>("db", "model"),
                                      MakeArgument<std::string>("db_type", GetParam())};
  ASSERT_TRUE(rooted.RunOperatorOnce(Op("Save", {"a"}, {}, args)));
  EXPECT_TRUE(std::filesystem::exists(directory_.Path("root/model")));
  ASSERT_TRUE(rooted.RunOperatorOnce(Op("Load", {}, {"a"}, args)));
}

TEST_P(LoadSaveTest, AFailedSaveLeavesNothing) {
  Feed<float>(&ws_, "a", {1}, {1});
  ws_.CreateBlob("bad")->GetMutable<int>();
  ExpectThrows(&ws_, Op("Save", {"a", "bad"}, {}, DBArgs("db")), "bad");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.Path("")));
  EXPECT_THROW(ws_.RunOperatorOnce(Op("Save", {"a"}, {}, DBArgs("no_directory/db"))), IoError);
}

TEST_P(LoadSaveTest, ReadersKeepTheirPosition) {
  {
    db::RecordWriter writer(GetParam(), directory_.Path("data"));
    for (int i = 0; i < 10; ++i) writer.Add(std::to_string(i));
    writer.Finish();
  }
  ASSERT_TRUE(ws_.RunOperatorOnce(
      Op("CreateDB", {}, {"reader"},
         DBArgs("data", {MakeArgument<int>("num_shards", 2), MakeArgument<int>("shard_id", 1),
                         MakeArgument<int>("shuffle", 1), MakeArgument<int>("seed", 9)}))));
  using Reader = std::unique_ptr<db::DBReader>;
  db::RecordBatch batch, expected;
  ws_.GetBlob("reader")->Get<Reader>()->ReadBatch(3, &batch);
  Save({"reader"}, "db");
  ws_.GetBlob("reader")->Get<Reader>()->ReadBatch(7, &expected);
  ws_.RemoveBlob("reader");  // LevelDB is open once at a time
  RunOp(&other_, LoadOp({"reader"}, "db"), kInferenceOptional);
  const Reader& reader = other_.GetBlob("reader")->Get<Reader>();
  EXPECT_EQ(reader->Committed(), 3);
  reader->ReadBatch(7, &batch);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(batch.records[i].value, expected.records[i].value);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, LoadSaveTest, ::testing::Values("lmdb", "leveldb", "minidb"),
                         [](const auto& info) { return info.param; });

TEST(CheckpointTest, Patterns) {
  EXPECT_EQ(FormatCheckpointPath("a_%06d.x", 42), "a_000042.x");
  EXPECT_EQ(FormatCheckpointPath("%lld", 1234567), "1234567");
  EXPECT_EQ(FormatCheckpointPath("%3u%%", 7), "  7%");
  EXPECT_EQ(FormatCheckpointPath("plain", 7), "plain");
  for (const std::string bad : {"%s", "%n", "%d_%d", "%", "%5", "%-5d", "%f", "%*d"}) {
    EXPECT_THROW(FormatCheckpointPath(bad, 1), EnforceNotMet) << bad;
  }
}

}  // namespace
}  // namespace caffe2::testing
