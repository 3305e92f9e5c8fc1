// A tensor is written in chunks of elements. Each chunk is a BlobProto under the key
// "<name>#%<chunk>", with the segment that it covers. Any other blob is one BlobProto under its
// name.
#pragma once

#include <functional>
#include <string>

#include "caffe2/core/blob.h"
#include "caffe2/core/registry.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

inline constexpr char kChunkIdSeparator[] = "#%";
inline constexpr int64_t kDefaultChunkSize = 1000000;  // elements
inline constexpr int64_t kNoChunking = -1;  // BlobSerializationOptions.chunk_size: one chunk

// Receives one record.
using SerializationAcceptor = std::function<void(const std::string& key, const std::string& value)>;

// Passes the records of the blob to `acceptor`. Ignores blob_name_regex of the options. Throws
// EnforceNotMet, naming the blob, if its type has no serializer, it is a tensor without data, or a
// record is larger than 2 GB. Only the type of a mutex is written, and of each element of a tensor
// of objects; reading makes new ones.
void SerializeBlob(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                   const BlobSerializationOptions& options = {});
// The blob as one BlobProto.
std::string SerializeBlob(const Blob& blob, const std::string& name);

// About how many bytes SerializeBlob writes, by Caffe2's estimate; 0 for blobs that are neither
// tensors nor strings.
int64_t EstimateSerializedSize(const Blob& blob, const std::string& name,
                               const BlobSerializationOptions& options = {});

// The first options whose blob_name_regex is empty or matches the whole name; the defaults if none
// does. Throws EnforceNotMet if a regex is invalid.
BlobSerializationOptions OptionsForBlob(const std::string& name,
                                        const SerializationOptions& options);

// Sets the blob from a BlobProto. A chunk of a tensor fills its segment; if the blob already holds
// a tensor of this shape and type, the other elements keep their values. A tensor is made on the
// device that its device_detail names. Throws EnforceNotMet, naming the blob, if the proto is
// inconsistent.
void DeserializeBlob(const BlobProto& proto, Blob* blob);
void DeserializeBlob(const std::string& bytes, Blob* blob);

// Writes elements [begin, end) of a tensor, which must be in host memory, with its name, shape and
// type, and sets the proto's segment. `format` applies to float tensors only.
void SerializeTensor(
    const Tensor& tensor, const std::string& name, int64_t begin, int64_t end, TensorProto* proto,
    BlobSerializationOptions::FloatFormat format = BlobSerializationOptions::FLOAT_DEFAULT);
// Like DeserializeBlob. A proto without a segment holds the whole tensor.
void DeserializeTensor(const TensorProto& proto, Tensor* tensor);

// Writes and reads the blobs of one type. The registry's keys are type names (Blob::TypeName()).
class BlobSerializer {
 public:
  virtual ~BlobSerializer() = default;
  virtual void Serialize(const Blob& blob, const std::string& name,
                         const SerializationAcceptor& acceptor,
                         const BlobSerializationOptions& options) = 0;
  virtual void Deserialize(const BlobProto& proto, Blob* blob) = 0;
  // As caffe2::EstimateSerializedSize.
  virtual int64_t EstimateSize(const Blob& /*blob*/, const std::string& /*name*/,
                               const BlobSerializationOptions& /*options*/) {
    return 0;
  }
};
Registry<std::string, BlobSerializer>& BlobSerializerRegistry();

#define REGISTER_BLOB_SERIALIZER(type_name, ...)                                       \
  static ::caffe2::Registerer<std::string, ::caffe2::BlobSerializer> CAFFE2_ANONYMOUS( \
      blob_serializer_)(&::caffe2::BlobSerializerRegistry(), type_name,                \
                        [] { return std::unique_ptr<::caffe2::BlobSerializer>(new __VA_ARGS__); })

}  // namespace caffe2
