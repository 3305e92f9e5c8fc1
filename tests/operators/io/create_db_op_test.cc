#include "db/db_reader.h"
#include "db/record_writer.h"
#include "tests/db/temporary_directory.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// The values of the next n records of the reader that CreateDB makes with these arguments.
Strings NextRecords(const std::string& path, int n, std::vector<Argument> args) {
  args.push_back(MakeArgument("db", path));
  args.push_back(MakeArgument<std::string>("db_type", "minidb"));
  Workspace ws;
  RunOp(&ws, Op("CreateDB", {}, {"reader"}, args));
  db::RecordBatch batch;
  ws.GetBlob("reader")->Get<std::unique_ptr<db::DBReader>>()->ReadBatch(n, &batch);
  Strings values;
  for (const db::Record& record : batch.records) values.push_back(record.value);
  return values;
}

TEST(CreateDBTest, ReadsEveryShardOfEndlessEpochs) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("data");
  db::RecordWriter writer("minidb", path);
  for (const char* value : {"a", "b", "c"}) writer.Add(value);
  writer.Finish();
  EXPECT_EQ(NextRecords(path, 5, {}), (Strings{"a", "b", "c", "a", "b"}));
  EXPECT_EQ(NextRecords(path, 4, {MakeArgument("num_shards", 2), MakeArgument("shard_id", 1)}),
            (Strings{"b", "a", "c", "b"}));
  Workspace ws;
  ExpectThrows(&ws,
               Op("CreateDB", {}, {"reader"},
                  {MakeArgument("db", path), MakeArgument<std::string>("db_type", "minidb"),
                   MakeArgument("num_shards", 2), MakeArgument("shard_id", 2)}),
               "shard");
}

// A net that trains and opens its database itself would train on one batch.
TEST(CreateDBTest, WarnsWhenItRunsAgain) {
  const TemporaryDirectory directory;
  const std::string path = directory.Path("data");
  db::RecordWriter writer("minidb", path);
  writer.Add("a");
  writer.Finish();
  NetDef net;
  net.set_name("opens");
  *net.add_op() = Op("CreateDB", {}, {"reader"},
                     {MakeArgument("db", path), MakeArgument<std::string>("db_type", "minidb")});
  Workspace ws;
  ws.CreateNet(net);
  const auto run = [&] {
    ::testing::internal::CaptureStderr();
    ws.RunNet(net.name());
    return ::testing::internal::GetCapturedStderr();
  };
  const std::string text = "CreateDB runs again";
  EXPECT_EQ(run().find(text), std::string::npos);
  EXPECT_NE(run().find(text), std::string::npos);
  EXPECT_EQ(run().find(text), std::string::npos) << "one line is enough";
}

}  // namespace
}  // namespace caffe2::testing
