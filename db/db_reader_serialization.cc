// Readers as blobs in checkpoints (DBReaderProto).
#include <google/protobuf/unknown_field_set.h>

#include <optional>

#include "caffe2/core/blob_serialization.h"
#include "db/db_reader.h"

namespace caffe2::db {
namespace {

// What Caffe2's message has no field for travels in fields that its readers pass over.
enum ExtraField { kPosition = 100, kNumShards = 101, kShardId = 102, kShuffle = 103, kSeed = 104 };

void SetExtra(DBReaderProto* proto, ExtraField field, uint64_t value) {
  proto->GetReflection()->MutableUnknownFields(proto)->AddVarint(field, value);
}

std::optional<uint64_t> GetExtra(const DBReaderProto& proto, ExtraField field) {
  const auto& fields = proto.GetReflection()->GetUnknownFields(proto);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& candidate = fields.field(i);
    const bool varint = candidate.type() == google::protobuf::UnknownField::TYPE_VARINT;
    if (varint && candidate.number() == field) return candidate.varint();
  }
  return std::nullopt;
}

// The place of a key in the database, for files of Caffe2, which hold no position.
int64_t PositionOfKey(const DBReader& reader, const std::string& key) {
  int64_t position = 0;
  bool found = false;
  reader.Visit([&](const std::string& candidate, const std::string&) {
    found = candidate == key;
    position += !found;
    return !found;
  });
  CAFFE_ENFORCE(found, "the database ", reader.source(), " has no key \"", key,
                "\" to continue at");
  return position;
}

class DBReaderSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 int64_t /*chunk_size*/) override {
    const auto& holder = blob.Get<std::unique_ptr<DBReader>>();
    CAFFE_ENFORCE(holder, "the reader \"", name, "\" is not open");
    DBReader reader = *holder;
    DBReaderProto proto;
    proto.set_name(name);
    proto.set_source(reader.source());
    proto.set_db_type(reader.db_type());
    proto.set_key(reader.KeyAtPosition());
    SetExtra(&proto, kPosition, static_cast<uint64_t>(reader.Committed()));
    SetExtra(&proto, kNumShards, static_cast<uint64_t>(reader.options().num_shards));
    SetExtra(&proto, kShardId, static_cast<uint64_t>(reader.options().shard_id));
    SetExtra(&proto, kShuffle, reader.options().shuffle ? 1 : 0);
    SetExtra(&proto, kSeed, reader.options().seed);
    BlobProto blob_proto;
    blob_proto.set_name(name);
    blob_proto.set_type("DBReader");
    blob_proto.set_content(proto.SerializeAsString());
    acceptor(name, blob_proto.SerializeAsString());
  }

  void Deserialize(const BlobProto& blob_proto, Blob* blob) override {
    DBReaderProto proto;
    CAFFE_ENFORCE(proto.ParseFromString(blob_proto.content()), "blob \"", blob_proto.name(),
                  "\" holds no DBReaderProto");
    DBReaderOptions options;
    options.num_shards = static_cast<int>(GetExtra(proto, kNumShards).value_or(1));
    options.shard_id = static_cast<int>(GetExtra(proto, kShardId).value_or(0));
    options.shuffle = GetExtra(proto, kShuffle).value_or(0) != 0;
    options.seed = GetExtra(proto, kSeed).value_or(0);
    auto reader = std::make_unique<DBReader>(proto.db_type(), proto.source(), options);
    if (const auto position = GetExtra(proto, kPosition)) {
      reader->Restore(static_cast<int64_t>(*position));
    } else if (!proto.key().empty()) {
      reader->Restore(PositionOfKey(*reader, proto.key()));
    }
    *blob->GetMutable<std::unique_ptr<DBReader>>() = std::move(reader);
  }
};

REGISTER_BLOB_SERIALIZER("DBReader", DBReaderSerializer);

}  // namespace
}  // namespace caffe2::db
