// IntIndexCreate, LongIndexCreate, StringIndexCreate, IndexGet, IndexLoad, IndexStore, IndexFreeze,
// IndexSize.
#include "operators/sparse/index_op.h"

#include <limits>
#include <sstream>

#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"

namespace caffe2 {
namespace {

using IndexPtr = std::unique_ptr<IndexBase>;

// The index in input 0.
IndexBase* IndexOf(const OperatorBase& op) {
  return CreatedObject<IndexPtr>(op, 0, "index",
                                 "IntIndexCreate, LongIndexCreate or StringIndexCreate")
      .get();
}

template <typename T>
class IndexCreateOp final : public Operator<CPUContext> {
 public:
  IndexCreateOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        max_elements_(
            GetSingleArgument<int64_t>("max_elements", std::numeric_limits<int32_t>::max())) {}
  bool RunOnDevice() override {
    *Output<IndexPtr>(0) = std::make_unique<Index<T>>(max_elements_);
    return true;
  }

 private:
  int64_t max_elements_;
};

class IndexGetOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<int32_t, int64_t, std::string>::Dispatch(this, Input(1).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    IndexBase* base = IndexOf(*this);
    auto* index = dynamic_cast<Index<T>*>(base);
    CAFFE_ENFORCE(index != nullptr, "an index of ", base->KeyType().name(),
                  " keys was given keys of ", TypeName<T>::Get());
    const Tensor& keys = Input(1);
    const T* key = keys.data<T>();
    Tensor* numbers = Output(0);
    numbers->ResizeLike(keys);
    index->Get(key, numbers->mutable_data<int64_t>(), keys.numel());
    return true;
  }
};

class IndexLoadOp final : public Operator<CPUContext> {
 public:
  IndexLoadOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), skip_(GetSingleArgument<int>("skip_first_entry", 0) != 0) {}
  bool RunOnDevice() override {
    IndexOf(*this)->Load(Input(1), skip_ ? 1 : 0);
    return true;
  }

 private:
  bool skip_;
};

class IndexStoreOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    IndexOf(*this)->Store(Output(0));
    return true;
  }
};

class IndexFreezeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    IndexOf(*this)->Freeze();
    return true;
  }
};

class IndexSizeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const int64_t size = IndexOf(*this)->Size();
    Output(0)->Resize();
    *Output(0)->mutable_data<int64_t>() = size;
    return true;
  }
};

// Caffe2's format: the keys as a tensor, "<max_elements> <frozen>" as content.
class IndexSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    const auto& index = blob.Get<IndexPtr>();
    CAFFE_ENFORCE(index != nullptr, "the index \"", name, "\" was not created");
    Tensor keys;
    index->Store(&keys);
    BlobProto proto;
    proto.set_name(name);
    proto.set_type(TypeName<IndexPtr>::Get());
    SerializeTensor(keys, name, 0, keys.numel(), proto.mutable_tensor());
    proto.set_content(MakeString(index->max_elements(), " ", index->frozen()));
    acceptor(name, proto.SerializeAsString());
  }
  void Deserialize(const BlobProto& proto, Blob* blob) override {
    CAFFE_ENFORCE(proto.has_tensor(), "blob \"", proto.name(), "\" holds no keys");
    int64_t max_elements = 0;
    bool frozen = false;
    std::istringstream content(proto.content());
    CAFFE_ENFORCE(content >> max_elements >> frozen, "blob \"", proto.name(), "\" holds \"",
                  proto.content(), "\" in place of the size of an index");
    Tensor keys;
    DeserializeTensor(proto.tensor(), &keys);
    IndexPtr index;
    if (keys.IsType<int32_t>()) index = std::make_unique<Index<int32_t>>(max_elements);
    if (keys.IsType<int64_t>()) index = std::make_unique<Index<int64_t>>(max_elements);
    if (keys.IsType<std::string>()) index = std::make_unique<Index<std::string>>(max_elements);
    CAFFE_ENFORCE(index != nullptr, "blob \"", proto.name(), "\" has keys of ",
                  keys.dtype().name());
    index->Load(keys, 0);
    if (frozen) index->Freeze();
    *blob->GetMutable<IndexPtr>() = std::move(index);
  }
};

void DescribeCreate(OpSchema& schema) {
  schema.NumInputs(0)
      .NumOutputs(1)
      .NonTensorOutputs({0})
      .Arg<int>("max_elements", "(> 0, default 2^31 - 1) The most entries, number 0 included.")
      .Output(0, "handle", "The index, a blob that is not a tensor.");
}

void DescribeInPlace(OpSchema& schema) {
  schema.NumOutputs(1)
      .EnforceInplace({{0, 0}})
      .NonTensorInputs({0})
      .NonTensorOutputs({0})
      .Input(0, "handle", "The index.")
      .Output(0, "handle", "The same index.");
}

}  // namespace

REGISTER_CPU_OPERATOR(IntIndexCreate, IndexCreateOp<int32_t>);
REGISTER_CPU_OPERATOR(LongIndexCreate, IndexCreateOp<int64_t>);
REGISTER_CPU_OPERATOR(StringIndexCreate, IndexCreateOp<std::string>);
REGISTER_CPU_OPERATOR(IndexGet, IndexGetOp);
REGISTER_CPU_OPERATOR(IndexLoad, IndexLoadOp);
REGISTER_CPU_OPERATOR(IndexStore, IndexStoreOp);
REGISTER_CPU_OPERATOR(IndexFreeze, IndexFreezeOp);
REGISTER_CPU_OPERATOR(IndexSize, IndexSizeOp);
REGISTER_BLOB_SERIALIZER("std::unique_ptr<caffe2::IndexBase>", IndexSerializer);

OPERATOR_SCHEMA(IntIndexCreate)
    .FillUsing(DescribeCreate)
    .SetDoc("Makes an empty index of int32 keys, which get the numbers 1, 2, ...")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(LongIndexCreate)
    .FillUsing(DescribeCreate)
    .SetDoc("Makes an empty index of int64 keys, which get the numbers 1, 2, ...")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(StringIndexCreate)
    .FillUsing(DescribeCreate)
    .SetDoc("Makes an empty index of strings, which get the numbers 1, 2, ...")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(IndexGet)
    .NonTensorInputs({0})
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[1]), TensorProto::INT64)};
    })
    .SetDoc(
        "The number of each key. A new key is added; if the index is frozen, its number is 0. A "
        "new key for a full index is an error.")
    .Input(0, "handle", "The index.")
    .Input(1, "keys", "Keys of its type, of any shape.")
    .Output(0, "indices", "int64: their numbers, shaped like the keys.")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(IndexLoad)
    .NumInputs(2)
    .FillUsing(DescribeInPlace)
    .SetDoc("Replaces the entries of an index by a list of different keys.")
    .Arg<int>("skip_first_entry", "(default 0) 1: the first key stands for number 0.")
    .Input(1, "items", "Keys; they get the numbers 1, 2, ...")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(IndexStore)
    .NonTensorInputs({0})
    .NumInputs(1)
    .NumOutputs(1)
    .SetDoc("The keys of an index in the order of their numbers, from 1.")
    .Input(0, "handle", "The index.")
    .Output(0, "items", "One-dimensional keys; their number is known at run time only.")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(IndexFreeze)
    .NumInputs(1)
    .FillUsing(DescribeInPlace)
    .SetDoc("Lets an index take no more keys.")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(IndexSize)
    .NonTensorInputs({0})
    .NumInputs(1)
    .NumOutputs(1)
    .ScalarType(TensorProto::INT64)
    .SetDoc("The number of entries of an index, number 0 included.")
    .Input(0, "handle", "The index.")
    .Output(0, "items", "An int64 scalar.")
    .CpuOnly(cpu_only::kCollections);
NO_GRADIENT(IntIndexCreate);
NO_GRADIENT(LongIndexCreate);
NO_GRADIENT(StringIndexCreate);
NO_GRADIENT(IndexGet);
SHOULD_NOT_DO_GRADIENT(IndexLoad);
SHOULD_NOT_DO_GRADIENT(IndexStore);
SHOULD_NOT_DO_GRADIENT(IndexFreeze);
SHOULD_NOT_DO_GRADIENT(IndexSize);

}  // namespace caffe2
