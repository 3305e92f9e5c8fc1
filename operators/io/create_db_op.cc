#include "operators/io/create_db_op.h"

namespace caffe2 {

db::DBReader MakeDBReader(const OperatorBase& op) {
  db::DBReaderOptions options;
  options.num_shards = op.GetSingleArgument<int>("num_shards", 1);
  options.shard_id = op.GetSingleArgument<int>("shard_id", 0);
  options.shuffle = op.GetSingleArgument<bool>("shuffle", false);
  options.seed = static_cast<uint64_t>(op.GetSingleArgument<int64_t>("seed", 0));
  options.holdout = {op.GetSingleArgument<double>("holdout", 0),
                     op.GetSingleArgument<bool>("held_out", false)};
  return db::DBReader(op.GetSingleArgument<std::string>("db_type", "leveldb"),
                      op.GetSingleArgument<std::string>("db", ""), options);
}

REGISTER_CPU_OPERATOR(CreateDB, CreateDBOp<CPUContext>);

OPERATOR_SCHEMA(CreateDB)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc(R"DOC(
Opens a database of records and creates a reader over it, for TensorProtosDBInput, ImageInput and
Load. The whole structure of the database is checked once. The reader is an endless stream of
epochs: record g of the stream goes to shard g mod num_shards, so that any number of shards together
visit the same records in the same order.
)DOC")
    .Arg<std::string>("db", "Path of the database.", /*required=*/true)
    .Arg<std::string>("db_type",
                      "lmdb, leveldb, minidb, cifar, stl10, idx, images or tar (db/README.md), or "
                      "auto: what the files look like (default leveldb).")
    .Arg<int>("num_shards", "Number of readers that share the records (default 1).")
    .Arg<int>("shard_id", "Index of this reader among them, from 0 (default 0).")
    .Arg<bool>("shuffle",
               "Visit the records in a new random order in each epoch (default 0). Not in Caffe2.")
    .Arg<int>("seed", "Seed of the shuffle (default 0); the same for all shards. Not in Caffe2.")
    .Arg<float>("holdout",
                "Share of the records that is held out, at least 0 and below 1 (default 0): the "
                "reader has the others. Which records it is depends only on their number and the "
                "share. Such a reader cannot be saved. Not in Caffe2.")
    .Arg<bool>("held_out",
               "1: the reader has the records that are held out (default 0). Not in Caffe2.")
    .Output(0, "reader", "The reader (DBReader).");

NO_GRADIENT(CreateDB);

}  // namespace caffe2
