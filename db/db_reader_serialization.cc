// Writes readers to checkpoints and reads them back (DBReaderProto).
#include "caffe2/core/blob_serialization.h"
#include "db/db_reader.h"

namespace caffe2::db {
namespace {

// The index of a key in the database. Caffe2's files hold a key and no position.
int64_t PositionOfKey(const DBReader& reader, const std::string& key) {
  int64_t position = 0;
  bool found = false;
  reader.Visit([&](const std::string& candidate, const std::string&) {
    found = candidate == key;
    position += !found;
    return !found;
  });
  CAFFE_ENFORCE(found, "the database ", reader.source(), " has no key \"", key,
                "\", at which the checkpoint continues");
  return position;
}

class DBReaderSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    const auto& holder = blob.Get<std::unique_ptr<DBReader>>();
    CAFFE_ENFORCE(holder, "the reader in blob \"", name, "\" is not open");
    DBReader reader = *holder;
    CAFFE_ENFORCE(reader.offset() == 0, "the reader in blob \"", name,
                  "\" continues a run with another number of shards, which only checkpoints of the "
                  "trainers can record");
    CAFFE_ENFORCE(reader.options().holdout.share == 0, "the reader in blob \"", name,
                  "\" has a part of its database (argument holdout of CreateDB), which only "
                  "checkpoints of the trainers can record");
    DBReaderProto proto;
    proto.set_name(name);
    proto.set_source(reader.source());
    proto.set_db_type(reader.db_type());
    proto.set_key(reader.KeyAtPosition());
    proto.set_position(reader.Committed());
    proto.set_num_shards(reader.options().num_shards);
    proto.set_shard_id(reader.options().shard_id);
    proto.set_shuffle(reader.options().shuffle);
    proto.set_seed(reader.options().seed);
    BlobProto blob_proto;
    blob_proto.set_name(name);
    blob_proto.set_type("DBReader");
    blob_proto.set_content(proto.SerializeAsString());
    acceptor(name, blob_proto.SerializeAsString());
  }

  void Deserialize(const BlobProto& blob_proto, Blob* blob) override {
    DBReaderProto proto;
    CAFFE_ENFORCE(proto.ParseFromString(blob_proto.content()), "blob \"", blob_proto.name(),
                  "\" does not contain a DBReaderProto");
    DBReaderOptions options;
    options.num_shards = proto.num_shards();
    options.shard_id = proto.shard_id();
    options.shuffle = proto.shuffle();
    options.seed = proto.seed();
    auto reader = std::make_unique<DBReader>(proto.db_type(), proto.source(), options);
    if (proto.has_position()) {
      reader->Restore(proto.position());
    } else if (!proto.key().empty()) {
      reader->Restore(PositionOfKey(*reader, proto.key()));
    }
    *blob->GetMutable<std::unique_ptr<DBReader>>() = std::move(reader);
  }
};

REGISTER_BLOB_SERIALIZER("DBReader", DBReaderSerializer);

}  // namespace
}  // namespace caffe2::db
