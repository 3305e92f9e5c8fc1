// The operators, as nets use them: shards are threads, each with a workspace of its own.

#include <gtest/gtest.h>

#include <atomic>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "distributed/store_handler.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

using Names = std::vector<std::string>;

OperatorDef MakeOp(const std::string& type, const Names& inputs, const Names& outputs,
                   const std::vector<Argument>& args = {}, const std::string& engine = "GLOO") {
  OperatorDef def;
  def.set_type(type);
  def.set_engine(engine);
  for (const std::string& input : inputs) def.add_input(input);
  for (const std::string& output : outputs) def.add_output(output);
  for (const Argument& arg : args) *def.add_arg() = arg;
  return def;
}

// Each test's keys are its own.
std::string NewPrefix() {
  static std::atomic<int> count{0};
  return "run" + std::to_string(++count);
}

// A workspace with the common world "cw".
void MakeWorld(Workspace* ws, const std::string& prefix, int size, int rank,
               const std::vector<Argument>& more = {}) {
  ASSERT_TRUE(ws->RunOperatorOnce(MakeOp("MemoryStoreHandlerCreate", {}, {"store"},
                                         {MakeArgument<std::string>("prefix", prefix)})));
  std::vector<Argument> args = {MakeArgument("size", size), MakeArgument("rank", rank),
                                MakeArgument<std::string>("interface", "127.0.0.1")};
  args.insert(args.end(), more.begin(), more.end());
  OperatorDef create = MakeOp("CreateCommonWorld", {"store"}, {"cw"}, args);
  create.set_name("cw_op");
  ASSERT_TRUE(ws->RunOperatorOnce(create));
}

template <typename T>
void FeedValues(Workspace* ws, const std::string& name, const std::vector<T>& values,
                std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  BlobGetMutableTensor(ws->CreateBlob(name), Device{})->CopyFrom(Tensor(dims, values));
}

template <typename T>
std::vector<T> ValuesOf(Workspace* ws, const std::string& name) {
  const Tensor& tensor = ws->GetBlob(name)->Get<Tensor>();
  return {tensor.data<T>(), tensor.data<T>() + tensor.numel()};
}

void RunWorlds(int size, const std::function<void(Workspace*, int rank)>& body) {
  const std::string prefix = NewPrefix();
  RunThreads(size, [&](int rank) {
    Workspace ws;
    MakeWorld(&ws, prefix, size, rank);
    body(&ws, rank);
  });
}

TEST(CollectiveOpTest, AllreduceSumsLocalCopiesAndShards) {
  RunWorlds(2, [](Workspace* ws, int rank) {
    FeedValues<float>(ws, "a", {1.f + rank, 2});
    FeedValues<float>(ws, "b", {10, 20});
    ASSERT_TRUE(ws->RunOperatorOnce(MakeOp("Allreduce", {"cw", "a", "b"}, {"a", "b"})));
    for (const char* name : {"a", "b"}) {
      EXPECT_EQ(ValuesOf<float>(ws, name), (std::vector<float>{23, 44}));
    }
    FeedValues<float>(ws, "c", {1, 2, 3});
    EXPECT_THROW(ws->RunOperatorOnce(MakeOp("Allreduce", {"cw", "a", "c"}, {"a", "c"})),
                 EnforceNotMet);
    EXPECT_THROW(ws->RunOperatorOnce(MakeOp("Allreduce", {"cw", "a"}, {"other"})), EnforceNotMet);
  });
}

TEST(CollectiveOpTest, BucketReducesDifferentTensorsAsOne) {
  RunWorlds(3, [](Workspace* ws, int rank) {
    FeedValues<float>(ws, "a", {1, 2, 3, 4, 5, 6}, {2, 3});
    FeedValues<float>(ws, "b", {static_cast<float>(rank)});
    FeedValues<float>(ws, "empty", {}, {0});
    const OperatorDef op = MakeOp("AllreduceBucket", {"cw", "a", "empty", "b"}, {"a", "empty", "b"},
                                  {MakeArgument("scale", 0.5f)});
    ASSERT_TRUE(ws->RunOperatorOnce(op));
    EXPECT_EQ(ValuesOf<float>(ws, "a"), (std::vector<float>{1.5, 3, 4.5, 6, 7.5, 9}));
    EXPECT_EQ(ValuesOf<float>(ws, "b"), (std::vector<float>{1.5}));
    FeedValues<int32_t>(ws, "i", {1});
    EXPECT_THROW(ws->RunOperatorOnce(MakeOp("AllreduceBucket", {"cw", "a", "i"}, {"a", "i"})),
                 EnforceNotMet);
  });
}

TEST(CollectiveOpTest, BucketOfAdjacentViewsIsReducedInPlace) {
  RunWorlds(2, [](Workspace* ws, int rank) {
    Tensor arena({5}, std::vector<float>{1, 2, 3, 4, 5});
    *ws->CreateBlob("a")->GetMutable<Tensor>() = arena.View(0, {2});
    *ws->CreateBlob("b")->GetMutable<Tensor>() = arena.View(2, {1, 2});
    const OperatorDef op = MakeOp("AllreduceBucket", {"cw", "a", "b"}, {"a", "b"});
    ASSERT_TRUE(ws->RunOperatorOnce(op));
    const float* values = arena.data<float>();
    EXPECT_EQ(std::vector<float>(values, values + 5), (std::vector<float>{2, 4, 6, 8, 5}));
  });
}

TEST(CollectiveOpTest, BroadcastAllgatherReduceScatterBarrierWithoutEngine) {
  RunWorlds(2, [](Workspace* ws, int rank) {
    FeedValues<int64_t>(ws, "x", {rank, 7});
    FeedValues<int64_t>(ws, "y", {0, 0});
    ASSERT_TRUE(ws->RunOperatorOnce(
        MakeOp("Broadcast", {"cw", "x", "y"}, {"x", "y"}, {MakeArgument("root", 1)}, "")));
    EXPECT_EQ(ValuesOf<int64_t>(ws, "y"), (std::vector<int64_t>{1, 7}));

    const float own = static_cast<float>(rank);
    FeedValues<float>(ws, "a", {own, own + 0.5f}, {1, 2});
    FeedValues<float>(ws, "b", {own + 10, own + 10.5f}, {1, 2});
    ASSERT_TRUE(ws->RunOperatorOnce(MakeOp("Allgather", {"cw", "a", "b"}, {"all"}, {}, "")));
    EXPECT_EQ(ws->GetBlob("all")->Get<Tensor>().sizes(), (std::vector<int64_t>{4, 2}));
    EXPECT_EQ(ValuesOf<float>(ws, "all"), (std::vector<float>{0, 0.5, 10, 10.5, 1, 1.5, 11, 11.5}));

    FeedValues<float>(ws, "data", {1, 2, 3});
    FeedValues<int32_t>(ws, "counts", {1, 2});
    ASSERT_TRUE(
        ws->RunOperatorOnce(MakeOp("ReduceScatter", {"cw", "data", "counts"}, {"data"}, {}, "")));
    EXPECT_EQ(ValuesOf<float>(ws, "data")[0], rank == 0 ? 2 : 4);
    FeedValues<int32_t>(ws, "counts", {1, 1});
    EXPECT_THROW(ws->RunOperatorOnce(MakeOp("ReduceScatter", {"cw", "data", "counts"}, {"data"})),
                 EnforceNotMet);
    ASSERT_TRUE(ws->RunOperatorOnce(MakeOp("Barrier", {"cw"}, {}, {}, "")));
  });
}

TEST(CollectiveOpTest, AllgatherRowsOfDifferentNumbers) {
  RunWorlds(3, [](Workspace* ws, int rank) {
    const OperatorDef op = MakeOp("AllgatherRows", {"cw", "i", "v"}, {"all_i", "all_v"});
    // Twice, and with other numbers: a shard without rows, one with as many as all others.
    for (const std::vector<int>& rows : {std::vector{2, 0, 1}, {0, 20, 1}, {0, 0, 0}}) {
      std::vector<int64_t> indices, expected_indices;
      std::vector<float> values, expected_values;
      for (int shard = 0; shard < 3; ++shard) {
        for (int row = 0; row < rows[shard]; ++row) {
          expected_indices.push_back(100 * shard + row);
          expected_values.insert(expected_values.end(), {10.f * shard, 1.f * row});
          if (shard != rank) continue;
          indices.push_back(expected_indices.back());
          values.insert(values.end(), {10.f * shard, 1.f * row});
        }
      }
      FeedValues<int64_t>(ws, "i", indices);
      FeedValues<float>(ws, "v", values, {rows[rank], 2});
      ASSERT_TRUE(ws->RunOperatorOnce(op));
      EXPECT_EQ(ValuesOf<int64_t>(ws, "all_i"), expected_indices);
      EXPECT_EQ(ValuesOf<float>(ws, "all_v"), expected_values);
      EXPECT_EQ(ws->GetBlob("all_v")->Get<Tensor>().sizes(),
                (std::vector<int64_t>{rows[0] + rows[1] + rows[2], 2}));
    }
    FeedValues<int64_t>(ws, "i", {1});
    EXPECT_THROW(ws->RunOperatorOnce(op), EnforceNotMet) << "one index, no value";
    FeedValues<float>(ws, "v", std::vector<float>(2 + rank), {1, 2 + rank});
    EXPECT_THROW(ws->RunOperatorOnce(op), EnforceNotMet) << "rows of different widths";
  });
}

TEST(CollectiveOpTest, CloneAndDestroy) {
  RunWorlds(2, [](Workspace* ws, int rank) {
    ASSERT_TRUE(ws->RunOperatorOnce(MakeOp("CloneCommonWorld", {"cw"}, {"cw2"})));
    ASSERT_TRUE(ws->RunOperatorOnce(MakeOp("DestroyCommonWorld", {"cw"}, {"cw"})));
    ASSERT_TRUE(ws->RunOperatorOnce(MakeOp("Barrier", {"cw2"}, {})));
    EXPECT_THROW(ws->RunOperatorOnce(MakeOp("Barrier", {"cw"}, {})), EnforceNotMet);
  });
}

TEST(CollectiveOpTest, StatusBlobInsteadOfAnException) {
  const std::string prefix = NewPrefix();
  Workspace ws;
  ASSERT_TRUE(ws.RunOperatorOnce(MakeOp("MemoryStoreHandlerCreate", {}, {"store"},
                                        {MakeArgument<std::string>("prefix", prefix)})));
  OperatorDef create =
      MakeOp("CreateCommonWorld", {"store"}, {"cw"},
             {MakeArgument("size", 2), MakeArgument("rank", 0), MakeArgument("timeout_ms", 300),
              MakeArgument<std::string>("interface", "127.0.0.1"),
              MakeArgument<std::string>("status_blob", "status")});
  EXPECT_THROW(ws.RunOperatorOnce(create), EnforceNotMet);  // no name
  create.set_name("cw_op");
  EXPECT_FALSE(ws.RunOperatorOnce(create));
  EXPECT_EQ(ValuesOf<int32_t>(&ws, "status"), std::vector<int32_t>{1});
}

TEST(CollectiveOpTest, PeerThatLeavesIsAnErrorOrAStatus) {
  RunWorlds(2, [](Workspace* ws, int rank) {
    ASSERT_TRUE(ws->RunOperatorOnce(MakeOp("Barrier", {"cw"}, {})));
    if (rank == 1) return;
    FeedValues<float>(ws, "x", {1});
    EXPECT_FALSE(ws->RunOperatorOnce(MakeOp(
        "Allreduce", {"cw", "x"}, {"x"},
        {MakeArgument<std::string>("status_blob", "status"), MakeArgument("timeout_ms", 5000)})));
    EXPECT_EQ(ValuesOf<int32_t>(ws, "status"), std::vector<int32_t>{1});
    EXPECT_THROW(ws->RunOperatorOnce(MakeOp("Allreduce", {"cw", "x"}, {"x"})), IoError);
  });
}

TEST(StoreOpTest, SetGetAddWait) {
  TemporaryDirectory directory;
  Workspace ws;
  ASSERT_TRUE(ws.RunOperatorOnce(
      MakeOp("FileStoreHandlerCreate", {}, {"store"},
             {MakeArgument("path", directory.path()), MakeArgument<std::string>("prefix", "p")})));
  FeedValues<float>(&ws, "data", {1, 2, 3, 4}, {2, 2});
  ASSERT_TRUE(ws.RunOperatorOnce(MakeOp("StoreSet", {"store", "data"}, {})));
  EXPECT_EQ(directory.Files("p"), std::vector<std::string>{"data"});
  ASSERT_TRUE(ws.RunOperatorOnce(
      MakeOp("StoreGet", {"store"}, {"copy"}, {MakeArgument<std::string>("blob_name", "data")})));
  EXPECT_EQ(ValuesOf<float>(&ws, "copy"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(ws.GetBlob("copy")->Get<Tensor>().sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_THROW(ws.RunOperatorOnce(MakeOp("StoreSet", {"store", "data"}, {})), IoError);

  const OperatorDef add = MakeOp("StoreAdd", {"store"}, {"count"}, {MakeArgument("add_value", 5)});
  ASSERT_TRUE(ws.RunOperatorOnce(add));
  ASSERT_TRUE(ws.RunOperatorOnce(add));
  EXPECT_EQ(ValuesOf<int64_t>(&ws, "count"), std::vector<int64_t>{10});

  ASSERT_TRUE(ws.RunOperatorOnce(
      MakeOp("StoreWait", {"store"}, {},
             {MakeArgument("blob_names", std::vector<std::string>{"data", "count"})})));
  FeedValues<std::string>(&ws, "names", {"data", "absent"});
  EXPECT_THROW(ws.RunOperatorOnce(
                   MakeOp("StoreWait", {"store", "names"}, {}, {MakeArgument("timeout_ms", 100)})),
               TimeoutError);
}

TEST(StoreOpTest, RedisHandler) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  Workspace ws;
  ASSERT_TRUE(ws.RunOperatorOnce(MakeOp(
      "RedisStoreHandlerCreate", {}, {"store"},
      {MakeArgument<std::string>("host", "127.0.0.1"), MakeArgument("port", redis.options().port),
       MakeArgument<std::string>("prefix", "run")})));
  FeedValues<float>(&ws, "data", {1, 2});
  ASSERT_TRUE(ws.RunOperatorOnce(MakeOp("StoreSet", {"store", "data"}, {})));
  EXPECT_TRUE(NewRedisStore(redis.options(), "")->Check({"run/data"}));
  EXPECT_THROW(ws.RunOperatorOnce(MakeOp("RedisStoreHandlerCreate", {}, {"s"})), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing
