#include "caffe2/core/blob_serialization.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <regex>

namespace caffe2 {
namespace {

static_assert(std::endian::native == std::endian::little, "raw data is little-endian");

// The field of a TensorProto that holds elements of type T, as Caffe2 writes them. int32_data also
// holds smaller integers and the bits of 16-bit floats.
template <typename T>
struct TypedField {
  static auto* Mutable(TensorProto* proto) { return proto->mutable_int32_data(); }
  static const auto& Get(const TensorProto& proto) { return proto.int32_data(); }
};
#define CAFFE2_TYPED_FIELD(T, field)                                              \
  template <>                                                                     \
  struct TypedField<T> {                                                          \
    static auto* Mutable(TensorProto* proto) { return proto->mutable_##field(); } \
    static const auto& Get(const TensorProto& proto) { return proto.field(); }    \
  }
CAFFE2_TYPED_FIELD(float, float_data);
CAFFE2_TYPED_FIELD(double, double_data);
CAFFE2_TYPED_FIELD(int64_t, int64_data);
CAFFE2_TYPED_FIELD(std::string, string_data);
#undef CAFFE2_TYPED_FIELD

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

template <typename T>
auto ToWire(const T& value) {
  if constexpr (kIsHalf<T>) {
    return static_cast<int32_t>(value.x);
  } else {
    return value;
  }
}

// Throws if the wire value does not fit.
template <typename T, typename Wire>
T FromWire(const Wire& value) {
  if constexpr (std::is_same_v<T, Wire>) {
    return value;
  } else if constexpr (kIsHalf<T>) {
    CAFFE_ENFORCE(value >= 0 && value <= 0xffff, "value ", value, " does not fit the element type ",
                  TypeName<T>::Get());
    return {static_cast<uint16_t>(value)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    CAFFE_ENFORCE(value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max(),
                  "value ", value, " does not fit the element type ", TypeName<T>::Get());
    return static_cast<T>(value);
  }
}

// The elements as the bytes that they are in memory; null if the proto does not hold them so.
const std::string* RawBytes(const TensorProto& proto) {
  if (proto.has_raw_data()) return &proto.raw_data();
  if (proto.has_byte_data()) return &proto.byte_data();
  return nullptr;
}

struct WriteElements {
  const Tensor* tensor;
  int64_t begin, end;
  TensorProto* proto;

  template <typename T>
  void Run() const {
    auto* field = TypedField<T>::Mutable(proto);
    field->Reserve(static_cast<int>(end - begin));
    const T* data = tensor->data<T>();
    for (int64_t i = begin; i < end; ++i) *field->Add() = ToWire(data[i]);
  }
};

struct ReadElements {
  const TensorProto* proto;
  int64_t begin, end;
  Tensor* tensor;

  template <typename T>
  void Run() const {
    const int64_t n = end - begin;
    if constexpr (!std::is_same_v<T, std::string>) {
      if (const std::string* raw = RawBytes(*proto)) {
        CAFFE_ENFORCE(raw->size() == static_cast<size_t>(n) * sizeof(T), "tensor \"", proto->name(),
                      "\" must have ", static_cast<size_t>(n) * sizeof(T), " bytes, found ",
                      raw->size());
        T* data = tensor->mutable_data<T>() + begin;
        if constexpr (std::is_same_v<T, bool>) {
          std::transform(raw->begin(), raw->end(), data, [](char byte) { return byte != 0; });
        } else if (n != 0) {
          std::memcpy(data, raw->data(), raw->size());
        }
        return;
      }
    }
    const auto& field = TypedField<T>::Get(*proto);
    CAFFE_ENFORCE(static_cast<int64_t>(field.size()) == n, "tensor \"", proto->name(),
                  "\" must have ", n, " elements, found ", field.size());
    using Wire = std::decay_t<decltype(field[0])>;
    std::transform(field.begin(), field.end(), tensor->mutable_data<T>() + begin,
                   FromWire<T, Wire>);
  }
};

template <typename Action>
void DispatchElementType(TypeMeta meta, const Action& action) {
  const bool found =
      [&]<typename... Types>(std::tuple<Types...>*) {
        return ((meta.Match<Types>() && (action.template Run<Types>(), true)) || ...);
      }(static_cast<std::tuple<float, int32_t, std::string, bool, uint8_t, int8_t, uint16_t,
                               int16_t, int64_t, float16, bfloat16, double>*>(nullptr));
  CAFFE_ENFORCE(found, "tensors of ", meta.name(), " cannot be serialized");
}

// Writes floats as bfloat16, rounded to nearest even, into raw_data.
void WriteAsBFloat16(const Tensor& tensor, int64_t begin, int64_t end, TensorProto* proto) {
  std::vector<bfloat16> rounded(end - begin);
  const float* data = tensor.data<float>();
  std::transform(data + begin, data + end, rounded.begin(), ToBFloat16);
  proto->set_data_format(TensorProto::FMT_BFLOAT16);
  proto->set_raw_data(rounded.data(), rounded.size() * sizeof(bfloat16));
}

void ReadFromBFloat16(const TensorProto& proto, int64_t begin, int64_t end, Tensor* tensor) {
  CAFFE_ENFORCE(proto.data_type() == TensorProto::FLOAT, "tensor \"", proto.name(),
                "\" of bfloat16 format must have data type FLOAT, found ",
                TensorProto::DataType_Name(proto.data_type()));
  CAFFE_ENFORCE(proto.raw_data().size() == static_cast<size_t>(end - begin) * sizeof(bfloat16),
                "tensor \"", proto.name(), "\" of bfloat16 format must have ",
                static_cast<size_t>(end - begin) * sizeof(bfloat16), " bytes, found ",
                proto.raw_data().size());
  float* data = tensor->mutable_data<float>() + begin;
  const char* raw = proto.raw_data().data();
  for (int64_t i = 0; i < end - begin; ++i) {
    bfloat16 value;
    std::memcpy(&value, raw + i * sizeof(value), sizeof(value));
    data[i] = ToFloat(value);
  }
}

// True if the elements are objects that can also be blobs. Like Caffe2's, our files hold only their
// type: an object is written as a blob of its type without content, and read as a
// default-constructed object.
bool HoldsObjects(const Tensor& tensor) {
  return TypeMetaToDataType(tensor.dtype()) == TensorProto::UNDEFINED &&
         BlobSerializerRegistry().Has(tensor.dtype().name());
}

void WriteObjectTypes(const Tensor& tensor, int64_t begin, int64_t end, TensorProto* proto) {
  LOG(WARNING) << "tensor \"" << proto->name() << "\": elements of type " << tensor.dtype().name()
               << " are not saved";
  BlobProto object;
  object.set_type(tensor.dtype().name());
  object.set_content("");
  const std::string bytes = object.SerializeAsString();
  for (int64_t i = begin; i < end; ++i) proto->add_string_data(bytes);
}

// The type of the objects; empty for a tensor without elements.
TypeMeta ReadObjectType(const TensorProto& proto) {
  if (proto.string_data().empty()) return {};
  BlobProto object;
  // Only a bare object: nothing that could again hold objects.
  const bool bare = object.ParseFromString(proto.string_data(0)) && object.type() != "Tensor" &&
                    object.content().empty();
  CAFFE_ENFORCE(bare, "tensor \"", proto.name(), "\" has type UNDEFINED but holds no objects");
  Blob blob;
  DeserializeBlob(proto.string_data(0), &blob);
  return blob.meta();
}

// Number of elements in a chunk of a tensor; at least one.
int64_t ChunkSize(const BlobSerializationOptions& options, const Tensor& tensor) {
  const int64_t size = options.chunk_size();
  if (size == kNoChunking) return std::max<int64_t>(tensor.numel(), 1);
  CAFFE_ENFORCE(size >= 0, "chunk_size must be at least 0, or -1 for one chunk, found ", size);
  return size == 0 ? kDefaultChunkSize : size;
}

// Bytes of an element by Caffe2's estimate. Integers of up to 32 bits are written in variable
// length; strings are taken as short.
int64_t EstimatedElementSize(const Tensor& tensor, BlobSerializationOptions::FloatFormat format) {
  constexpr int64_t kIntegerSize = 3, kStringSize = 50;
  const TypeMeta type = tensor.dtype();
  if (type.Match<std::string>()) return kStringSize;
  if (type.Match<float>() && format == BlobSerializationOptions::FLOAT_BFLOAT16) {
    return sizeof(bfloat16);
  }
  if (type.Match<bool>() || type.Match<float>() || type.Match<double>() || type.Match<int64_t>()) {
    return static_cast<int64_t>(type.itemsize());
  }
  return kIntegerSize;
}

class TensorSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& options) override {
    const Tensor& source = blob.Get<Tensor>();
    CAFFE_ENFORCE(source.has_data(), "tensor \"", name, "\" holds no data to serialize");
    Tensor host;
    if (source.GetDeviceType() != CPU) host.CopyFrom(source);
    const Tensor& tensor = source.GetDeviceType() == CPU ? source : host;

    const int64_t chunk_size = ChunkSize(options, tensor);
    int64_t begin = 0;
    for (int64_t chunk = 0; chunk == 0 || begin < tensor.numel(); ++chunk) {
      const int64_t end = begin + std::min(chunk_size, tensor.numel() - begin);
      BlobProto proto;
      proto.set_name(name);
      proto.set_type("Tensor");
      SerializeTensor(tensor, name, begin, end, proto.mutable_tensor(), options.float_format());
      if (source.GetDeviceType() != CPU) {
        *proto.mutable_tensor()->mutable_device_detail() = ToDeviceOption(source.device());
      }
      acceptor(MakeString(name, kChunkIdSeparator, chunk), proto.SerializeAsString());
      begin = end;
    }
  }

  void Deserialize(const BlobProto& proto, Blob* blob) override {
    CAFFE_ENFORCE(proto.has_tensor(), "blob \"", proto.name(), "\" of type ", proto.type(),
                  " holds no tensor");
    const Device device = ToDevice(proto.tensor().device_detail());
    DeserializeTensor(proto.tensor(), BlobGetMutableTensor(blob, device));
  }

  int64_t EstimateSize(const Blob& blob, const std::string& name,
                       const BlobSerializationOptions& options) override {
    constexpr int64_t kChunkOverhead = 50;  // type, segment, field and length headers
    const Tensor& tensor = blob.Get<Tensor>();
    if (!tensor.has_data()) return 0;
    const int64_t chunk_size = ChunkSize(options, tensor);
    const int64_t chunks = std::max<int64_t>(1, (tensor.numel() - 1) / chunk_size + 1);
    return chunks * (static_cast<int64_t>(name.size()) + kChunkOverhead) +
           tensor.numel() * EstimatedElementSize(tensor, options.float_format());
  }
};

class StringSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    BlobProto proto;
    proto.set_name(name);
    proto.set_type("std::string");
    proto.set_content(blob.Get<std::string>());
    acceptor(name, proto.SerializeAsString());
  }
  void Deserialize(const BlobProto& proto, Blob* blob) override {
    *blob->GetMutable<std::string>() = proto.content();
  }
  int64_t EstimateSize(const Blob& blob, const std::string& name,
                       const BlobSerializationOptions& /*options*/) override {
    constexpr int64_t kOverhead = 20;  // type, field and length headers
    return static_cast<int64_t>(name.size() + blob.Get<std::string>().size()) + kOverhead;
  }
};

// A mutex has no state to save: reading makes a new one.
class MutexSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& /*blob*/, const std::string& name,
                 const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    BlobProto proto;
    proto.set_name(name);
    proto.set_type("std::unique_ptr<std::mutex>");
    proto.set_content("");
    acceptor(name, proto.SerializeAsString());
  }
  void Deserialize(const BlobProto& /*proto*/, Blob* blob) override {
    *blob->GetMutable<std::unique_ptr<std::mutex>>() = std::make_unique<std::mutex>();
  }
};

REGISTER_BLOB_SERIALIZER("Tensor", TensorSerializer);
REGISTER_BLOB_SERIALIZER("TensorCPU", TensorSerializer);   // in older files
REGISTER_BLOB_SERIALIZER("TensorCUDA", TensorSerializer);  // in older files
REGISTER_BLOB_SERIALIZER("std::string", StringSerializer);
REGISTER_BLOB_SERIALIZER("std::unique_ptr<std::mutex>", MutexSerializer);

}  // namespace

Registry<std::string, BlobSerializer>& BlobSerializerRegistry() {
  static Registry<std::string, BlobSerializer> registry;
  return registry;
}

void SerializeTensor(const Tensor& tensor, const std::string& name, int64_t begin, int64_t end,
                     TensorProto* proto, BlobSerializationOptions::FloatFormat format) {
  CAFFE_ENFORCE(0 <= begin && begin <= end && end <= tensor.numel(), "elements ", begin, " to ",
                end, " are out of range for tensor \"", name, "\" of ", tensor.numel(),
                " elements");
  CAFFE_ENFORCE(end - begin <= std::numeric_limits<int>::max(), end - begin,
                " elements of tensor \"", name, "\" are too many for one message: use chunks");
  proto->set_name(name);
  for (const int64_t dim : tensor.sizes()) proto->add_dims(dim);
  proto->set_data_type(TypeMetaToDataType(tensor.dtype()));
  proto->mutable_segment()->set_begin(begin);
  proto->mutable_segment()->set_end(end);
  if (format == BlobSerializationOptions::FLOAT_BFLOAT16 && tensor.IsType<float>()) {
    WriteAsBFloat16(tensor, begin, end, proto);
    return;
  }
  if (HoldsObjects(tensor)) {
    WriteObjectTypes(tensor, begin, end, proto);
    return;
  }
  DispatchElementType(tensor.dtype(), WriteElements{&tensor, begin, end, proto});
}

void DeserializeTensor(const TensorProto& proto, Tensor* tensor) {
  const std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  const int64_t numel = CheckedNumel(dims);
  const bool of_objects = proto.data_type() == TensorProto::UNDEFINED;
  const TypeMeta meta = of_objects ? ReadObjectType(proto) : DataTypeToTypeMeta(proto.data_type());
  CAFFE_ENFORCE(meta || (of_objects && numel == 0), "tensor \"", proto.name(), "\" has data type ",
                TensorProto::DataType_Name(proto.data_type()), ", which is not supported");
  CAFFE_ENFORCE(proto.storage_type() != TensorProto::EXTERNAL, "tensor \"", proto.name(),
                "\" keeps its data in another file, which is not supported");
  int64_t begin = 0, end = numel;
  if (proto.has_segment()) {
    begin = proto.segment().begin();
    end = proto.segment().end();
    CAFFE_ENFORCE(0 <= begin && begin <= end && end <= numel, "tensor \"", proto.name(), "\" of ",
                  numel, " elements has a segment from ", begin, " to ", end);
  }
  if (tensor->GetDeviceType() != CPU) {
    // Through the host. Unless this is the only chunk, the whole tensor has to be copied.
    Tensor host;
    if (end - begin < numel && tensor->has_data() && tensor->sizes() == dims)
      host.CopyFrom(*tensor);
    DeserializeTensor(proto, &host);
    tensor->CopyFrom(host);
    return;
  }
  if (of_objects) {
    CAFFE_ENFORCE(static_cast<int64_t>(proto.string_data_size()) == end - begin, "tensor \"",
                  proto.name(), "\" must have ", end - begin, " strings, found ",
                  proto.string_data_size());
    tensor->FreeMemory();  // destroys old objects
  }
  tensor->Resize(dims);
  if (proto.storage_type() == TensorProto::NO_CONTENT || of_objects) {
    if (meta) tensor->raw_mutable_data(meta);
    return;
  }
  if (proto.data_format() == TensorProto::FMT_BFLOAT16) {
    ReadFromBFloat16(proto, begin, end, tensor);
    return;
  }
  CAFFE_ENFORCE(proto.data_format() == static_cast<uint32_t>(TensorProto::FMT_PROTOBUF),
                "tensor \"", proto.name(), "\" has the unknown data format ", proto.data_format());
  DispatchElementType(meta, ReadElements{&proto, begin, end, tensor});
}

BlobSerializationOptions OptionsForBlob(const std::string& name,
                                        const SerializationOptions& options) {
  for (const BlobSerializationOptions& candidate : options.options()) {
    const std::string& pattern = candidate.blob_name_regex();
    try {
      if (pattern.empty() || std::regex_match(name, std::regex(pattern))) return candidate;
    } catch (const std::regex_error& error) {
      CAFFE_THROW("blob_name_regex \"", pattern, "\" is not a regular expression: ", error.what());
    }
  }
  return {};
}

void SerializeBlob(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                   const BlobSerializationOptions& options) {
  auto serializer = BlobSerializerRegistry().Create(blob.TypeName());
  CAFFE_ENFORCE(serializer, "blob \"", name, "\" holds ", blob.TypeName(),
                ", which cannot be serialized");
  // Protobuf returns an empty text for a message that it cannot write.
  const auto accept = [&](const std::string& key, const std::string& value) {
    CAFFE_ENFORCE(!value.empty(), "record \"", key, "\" of blob \"", name,
                  "\" is larger than 2 GB, the limit of protobuf: use smaller chunks");
    acceptor(key, value);
  };
  serializer->Serialize(blob, name, accept, options);
}

std::string SerializeBlob(const Blob& blob, const std::string& name) {
  std::string bytes;
  BlobSerializationOptions options;
  options.set_chunk_size(kNoChunking);
  SerializeBlob(
      blob, name, [&bytes](const std::string&, const std::string& value) { bytes = value; },
      options);
  return bytes;
}

int64_t EstimateSerializedSize(const Blob& blob, const std::string& name,
                               const BlobSerializationOptions& options) {
  auto serializer = BlobSerializerRegistry().Create(blob.TypeName());
  return serializer ? serializer->EstimateSize(blob, name, options) : 0;
}

void DeserializeBlob(const BlobProto& proto, Blob* blob) {
  auto serializer = BlobSerializerRegistry().Create(proto.type());
  CAFFE_ENFORCE(serializer, "blob \"", proto.name(), "\" has type \"", proto.type(),
                "\", which cannot be deserialized");
  serializer->Deserialize(proto, blob);
}

void DeserializeBlob(const std::string& bytes, Blob* blob) {
  BlobProto proto;
  CAFFE_ENFORCE(proto.ParseFromString(bytes) && !proto.type().empty(), "the ", bytes.size(),
                " bytes are not a BlobProto, the form in which SerializeBlob writes blobs");
  DeserializeBlob(proto, blob);
}

}  // namespace caffe2
