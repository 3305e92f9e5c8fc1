// Blobs as bytes, in Caffe2's format (BlobProto).
//
// A tensor is written in chunks of elements, each a BlobProto of its own under the key
// "<name>#%<chunk>", with the segment it covers. Any other blob is one BlobProto under its name.
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

// Takes one record.
using SerializationAcceptor = std::function<void(const std::string& key, const std::string& value)>;

// Throws EnforceNotMet, naming blob and type, if there is no serializer for what the blob holds.
// The options' blob_name_regex is not looked at.
void SerializeBlob(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                   const BlobSerializationOptions& options = {});
// The blob as one BlobProto.
std::string SerializeBlob(const Blob& blob, const std::string& name);

// About how many bytes SerializeBlob hands out, in Caffe2's measure; 0 for blobs that are neither
// tensors nor strings.
int64_t EstimateSerializedSize(const Blob& blob, const std::string& name,
                               const BlobSerializationOptions& options = {});

// The first options whose blob_name_regex matches the whole name or is empty; the defaults if
// there are none. Throws EnforceNotMet for what is no regular expression.
BlobSerializationOptions OptionsForBlob(const std::string& name,
                                        const SerializationOptions& options);

// Sets the blob from a BlobProto. A chunk of a tensor fills its segment, and leaves the rest as it
// is if the blob holds a tensor of this shape and type already. Tensors are made on their
// device_detail. Throws EnforceNotMet, naming the blob, on anything that is not consistent.
void DeserializeBlob(const BlobProto& proto, Blob* blob);
void DeserializeBlob(const std::string& bytes, Blob* blob);

// Elements [begin, end) of a tensor. The proto's segment is set. `format` is for floats only.
void SerializeTensor(
    const Tensor& tensor, const std::string& name, int64_t begin, int64_t end, TensorProto* proto,
    BlobSerializationOptions::FloatFormat format = BlobSerializationOptions::FLOAT_DEFAULT);
// As DeserializeBlob. A proto without segment holds the whole tensor.
void DeserializeTensor(const TensorProto& proto, Tensor* tensor);

// How a type of blob is written and read. Keys are type names (Blob::TypeName()).
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
