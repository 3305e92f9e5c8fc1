// CreateMap, KeyValueToMap, MapToKeyValue.
#include "operators/sparse/map_op.h"

#include <algorithm>
#include <vector>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/dataset/tensor_list.h"

namespace caffe2 {
namespace {

// Calls function.template Run<Key, Value>() for the integer types; throws, naming them, for others.
template <class Function>
void DispatchMap(TypeMeta key, TypeMeta value, const Function& function) {
  const auto with_key = [&]<typename Key>(Key) {
    if (value.Match<int32_t>()) return function(Key{}, int32_t{});
    if (value.Match<int64_t>()) return function(Key{}, int64_t{});
    CAFFE_THROW("values of a map must be int32 or int64, not ", value.name());
  };
  if (key.Match<int32_t>()) return with_key(int32_t{});
  if (key.Match<int64_t>()) return with_key(int64_t{});
  CAFFE_THROW("keys of a map must be int32 or int64, not ", key.name());
}

// Calls function(map) for the map in a blob, of any of the four types.
template <class Function>
void VisitMap(const Blob& blob, const Function& function) {
  if (blob.IsType<MapInt32ToInt32>()) return function(blob.Get<MapInt32ToInt32>());
  if (blob.IsType<MapInt32ToInt64>()) return function(blob.Get<MapInt32ToInt64>());
  if (blob.IsType<MapInt64ToInt32>()) return function(blob.Get<MapInt64ToInt32>());
  if (blob.IsType<MapInt64ToInt64>()) return function(blob.Get<MapInt64ToInt64>());
  CAFFE_THROW("the input is ", blob.TypeName(), ", not a map");
}

template <typename Key, typename Value>
void FillMap(const Tensor& keys, const Tensor& values, IntegerMap<Key, Value>* map) {
  CAFFE_ENFORCE(keys.dim() == 1 && values.sizes() == keys.sizes(),
                "keys and values must be one-dimensional and of the same length: keys has shape ",
                ShapeString(keys.sizes()), ", values ", ShapeString(values.sizes()));
  const Key* key = keys.data<Key>();
  const Value* value = values.data<Value>();
  map->clear();
  for (int64_t i = 0; i < keys.numel(); ++i) map->emplace(key[i], value[i]);
}

// In ascending order of the keys, so that equal maps give equal tensors.
template <typename Key, typename Value>
void ListMap(const IntegerMap<Key, Value>& map, Tensor* keys, Tensor* values) {
  std::vector<std::pair<Key, Value>> pairs(map.begin(), map.end());
  std::sort(pairs.begin(), pairs.end());
  keys->Resize(static_cast<int64_t>(pairs.size()));
  values->Resize(static_cast<int64_t>(pairs.size()));
  Key* key = keys->mutable_data<Key>();
  Value* value = values->mutable_data<Value>();
  for (size_t i = 0; i < pairs.size(); ++i) {
    key[i] = pairs[i].first;
    value[i] = pairs[i].second;
  }
}

class CreateMapOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    DispatchMap(ReadType("key_dtype"), ReadType("value_dtype"),
                [this]<typename Key, typename Value>(Key, Value) {
                  Output<IntegerMap<Key, Value>>(0)->clear();
                });
    return true;
  }

 private:
  TypeMeta ReadType(const char* name) const {
    const int type = GetSingleArgument<int>(name, TensorProto::INT32);
    CAFFE_ENFORCE(TensorProto::DataType_IsValid(type), "argument ", name,
                  " must be a data type, found ", type);
    return DataTypeToTypeMeta(static_cast<TensorProto::DataType>(type));
  }
};

class KeyValueToMapOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &keys = Input(0), &values = Input(1);
    DispatchMap(keys.dtype(), values.dtype(), [&]<typename Key, typename Value>(Key, Value) {
      FillMap(keys, values, Output<IntegerMap<Key, Value>>(0));
    });
    return true;
  }
};

class MapToKeyValueOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    VisitMap(InputBlob(0), [this](const auto& map) { ListMap(map, Output(0), Output(1)); });
    return true;
  }
};

// A map is written as TensorProtos: its keys and its values.
class MapSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    Tensor keys, values;
    VisitMap(blob, [&](const auto& map) { ListMap(map, &keys, &values); });
    SerializeTensorList(blob, name, {&keys, &values}, acceptor);
  }
  void Deserialize(const BlobProto& proto, Blob* blob) override {
    const std::vector<Tensor> tensors = DeserializeTensorList(proto);
    CAFFE_ENFORCE(tensors.size() == 2u, "blob \"", proto.name(),
                  "\" must hold keys and values, found ", tensors.size(), " tensors");
    const Tensor &keys = tensors[0], &values = tensors[1];
    DispatchMap(keys.dtype(), values.dtype(), [&]<typename Key, typename Value>(Key, Value) {
      FillMap(keys, values, blob->GetMutable<IntegerMap<Key, Value>>());
    });
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(CreateMap, CreateMapOp);
REGISTER_CPU_OPERATOR(KeyValueToMap, KeyValueToMapOp);
REGISTER_CPU_OPERATOR(MapToKeyValue, MapToKeyValueOp);
REGISTER_BLOB_SERIALIZER("(std::unordered_map<int32_t, int32_t>)", MapSerializer);
REGISTER_BLOB_SERIALIZER("(std::unordered_map<int32_t, int64_t>)", MapSerializer);
REGISTER_BLOB_SERIALIZER("(std::unordered_map<int64_t, int32_t>)", MapSerializer);
REGISTER_BLOB_SERIALIZER("(std::unordered_map<int64_t, int64_t>)", MapSerializer);

OPERATOR_SCHEMA(CreateMap)
    .NonTensorOutputs({0})
    .NumInputs(0)
    .NumOutputs(1)
    .SetDoc("Makes an empty map between integers.")
    .Arg<int>("key_dtype", "(default INT32) The type of the keys: INT32 or INT64 of TensorProto.")
    .Arg<int>("value_dtype", "(default INT32) The type of the values, in the same way.")
    .Output(0, "map", "The map, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(KeyValueToMap)
    .NonTensorOutputs({0})
    .NumInputs(2)
    .NumOutputs(1)
    .SetDoc("Makes a map of keys and values. If a key occurs twice, the first one counts.")
    .Input(0, "keys", "int32 or int64, one-dimensional.")
    .Input(1, "values", "int32 or int64, as many.")
    .Output(0, "map", "The map, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(MapToKeyValue)
    .NonTensorInputs({0})
    .NumInputs(1)
    .NumOutputs(2)
    .SetDoc("The keys of a map in ascending order, and their values.")
    .Input(0, "map", "A map.")
    .Output(0, "keys", "One-dimensional, of the map's type.")
    .Output(1, "values", "As many values.")
    .CpuOnly(cpu_only::kCollections);
SHOULD_NOT_DO_GRADIENT(CreateMap);
SHOULD_NOT_DO_GRADIENT(KeyValueToMap);
SHOULD_NOT_DO_GRADIENT(MapToKeyValue);

}  // namespace caffe2
