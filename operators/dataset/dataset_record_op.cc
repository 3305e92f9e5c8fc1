// Writes datasets and packs records: Append, AtomicAppend, CreateTensorVector, TensorVectorSize,
// ConcatTensorVector, CollectTensor, PackRecords, UnPackRecords.
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"
#include "operators/dataset/dataset_op.h"
#include "operators/dataset/tensor_list.h"

namespace caffe2 {
namespace {

class AppendOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    AppendRows(Input(1), Output(0));
    return true;
  }
};

class AtomicAppendOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const auto& mutex =
        CreatedObject<std::unique_ptr<std::mutex>>(*this, 0, "mutex", "CreateMutex");
    const std::lock_guard<std::mutex> lock(*mutex);
    for (int i = 0; i < OutputSize(); ++i) AppendRows(Input(1 + OutputSize() + i), Output(i));
    return true;
  }
};

// The tensor vector in input i.
const TensorVector& VectorOf(const OperatorBase& op, int i) {
  return *CreatedObject<TensorVectorPtr>(op, i, "tensor vector", "CreateTensorVector");
}

class CreateTensorVectorOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    *Output<TensorVectorPtr>(0) = std::make_unique<TensorVector>();
    return true;
  }
};

class TensorVectorSizeOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const size_t size = VectorOf(*this, 0).size();
    Output(0)->Resize();
    *Output(0)->mutable_data<int32_t>() = static_cast<int32_t>(size);
    return true;
  }
};

// Y = the rows of all tensors. Throws, as AppendRows does, if the tensors do not match.
void Concatenate(const std::vector<const Tensor*>& parts, Tensor* Y) {
  CopyRows(*parts[0], 0, parts[0]->size(0), Y);
  for (size_t i = 1; i < parts.size(); ++i) AppendRows(*parts[i], Y);
}

class ConcatTensorVectorOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const TensorVector& vector = VectorOf(*this, 0);
    CAFFE_ENFORCE(!vector.empty(), "the tensor vector is empty");
    std::vector<const Tensor*> parts;
    for (const Tensor& tensor : vector) {
      CAFFE_ENFORCE(tensor.dim() >= 1,
                    "a tensor of the vector must have at least one axis, found a scalar");
      parts.push_back(&tensor);
    }
    Concatenate(parts, Output(0));
    return true;
  }
};

// Reservoir sampling: each tensor seen so far is kept with the same probability.
class CollectTensorOp final : public Operator<CPUContext> {
 public:
  CollectTensorOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), capacity_(GetSingleArgument<int64_t>("num_to_collect", -1)) {
    CAFFE_ENFORCE(capacity_ > 0, "argument num_to_collect must be positive, found ", capacity_);
  }
  bool RunOnDevice() override {
    ++seen_;
    int64_t place = seen_ - 1;
    if (seen_ > capacity_) {
      place = static_cast<int64_t>(context_.random().UniformInt(static_cast<uint64_t>(seen_)));
      if (place >= capacity_) return true;
    }
    for (int i = 0; i < OutputSize(); ++i) {
      VectorOf(*this, i);
      TensorVector& vector = **Output<TensorVectorPtr>(i);
      if (place >= static_cast<int64_t>(vector.size())) {
        vector.emplace_back();
        place = static_cast<int64_t>(vector.size()) - 1;
      }
      vector[place].CopyFrom(Input(OutputSize() + i));
    }
    return true;
  }

 private:
  const int64_t capacity_;
  int64_t seen_ = 0;
};

class PackRecordsOp final : public Operator<CPUContext> {
 public:
  PackRecordsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        fields_(GetRepeatedArgument<std::string>("fields")),
        single_(GetSingleArgument<bool>("pack_to_single_shared_ptr", false)) {}
  bool RunOnDevice() override {
    std::vector<const Tensor*> columns;
    for (int i = 0; i < InputSize(); ++i) columns.push_back(&Input(i));
    const int64_t records = fields_.NumRecords(columns);
    if (single_) {
      PackWhole(columns);
      return true;
    }
    Tensor* packed = Output(0);
    packed->Resize(records);
    auto* record = packed->mutable_data<SharedTensorVectorPtr>();
    TreeFields::Rows at(fields_.num_levels(), 0);
    for (int64_t r = 0; r < records; ++r) {
      const TreeFields::Rows counts = fields_.Count(columns, at, 1);
      record[r] = std::make_shared<TensorVector>(fields_.size());
      for (int i = 0; i < fields_.size(); ++i) {
        const int level = fields_.level(i);
        CopyRows(*columns[i], at[level], counts[level], &(*record[r])[i]);
      }
      for (size_t level = 0; level < at.size(); ++level) at[level] += counts[level];
    }
    return true;
  }

 private:
  void PackWhole(const std::vector<const Tensor*>& columns) {
    Output(0)->Resize(1);
    auto whole = std::make_shared<TensorVector>(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) (*whole)[i].CopyFrom(*columns[i]);
    *Output(0)->mutable_data<SharedTensorVectorPtr>() = std::move(whole);
  }

  TreeFields fields_;
  bool single_;
};

class UnPackRecordsOp final : public Operator<CPUContext> {
 public:
  UnPackRecordsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), fields_(GetRepeatedArgument<std::string>("fields")) {
    CAFFE_ENFORCE(OutputSize() == fields_.size(), "there must be one output for each of the ",
                  fields_.size(), " fields, found ", OutputSize());
    CAFFE_ENFORCE(InputSize() == 1 || InputSize() == 1 + fields_.size(),
                  "there must be one prototype for each of the ", fields_.size(),
                  " fields, or none; found ", InputSize() - 1);
  }
  bool RunOnDevice() override {
    const Tensor& packed = Input(0);
    const auto* records = packed.data<SharedTensorVectorPtr>();
    std::vector<const Tensor*> parts;
    for (int i = 0; i < OutputSize(); ++i) {
      parts.clear();
      for (int64_t r = 0; r < packed.numel(); ++r) {
        CAFFE_ENFORCE(
            records[r] != nullptr && static_cast<int>(records[r]->size()) == fields_.size(),
            "record ", r, " does not have ", fields_.size(), " fields");
        parts.push_back(&(*records[r])[i]);
      }
      if (parts.empty()) {
        CAFFE_ENFORCE(InputSize() > 1, "there are neither records nor prototypes");
        CopyRows(Input(1 + i), 0, 0, Output(i));
      } else {
        Concatenate(parts, Output(i));
      }
    }
    return true;
  }

 private:
  TreeFields fields_;
};

// A list of tensors is written as TensorProtos. Pointer: TensorVectorPtr or SharedTensorVectorPtr.
template <class Pointer>
class TensorVectorSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    const Pointer& vector = blob.Get<Pointer>();
    CAFFE_ENFORCE(vector != nullptr, "the tensor vector \"", name, "\" was not created");
    std::vector<const Tensor*> tensors;
    for (const Tensor& tensor : *vector) tensors.push_back(&tensor);
    SerializeTensorList(blob, name, tensors, acceptor);
  }
  void Deserialize(const BlobProto& proto, Blob* blob) override {
    *blob->GetMutable<Pointer>() = std::make_unique<TensorVector>(DeserializeTensorList(proto));
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Append, AppendOp);
REGISTER_CPU_OPERATOR(AtomicAppend, AtomicAppendOp);
REGISTER_CPU_OPERATOR(CreateTensorVector, CreateTensorVectorOp);
REGISTER_CPU_OPERATOR(TensorVectorSize, TensorVectorSizeOp);
REGISTER_CPU_OPERATOR(ConcatTensorVector, ConcatTensorVectorOp);
REGISTER_CPU_OPERATOR(CollectTensor, CollectTensorOp);
REGISTER_CPU_OPERATOR(PackRecords, PackRecordsOp);
REGISTER_CPU_OPERATOR(UnPackRecords, UnPackRecordsOp);
REGISTER_BLOB_SERIALIZER("std::unique_ptr<std::vector<TensorCPU>>",
                         TensorVectorSerializer<TensorVectorPtr>);
REGISTER_BLOB_SERIALIZER("std::shared_ptr<std::vector<TensorCPU>>",
                         TensorVectorSerializer<SharedTensorVectorPtr>);

OPERATOR_SCHEMA(Append)
    .NumInputs(2)
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .SetDoc("Appends the rows of one tensor to another, whose memory grows in steps.")
    .Input(0, "dataset", "The tensor that grows.")
    .Input(1, "new_data", "Rows of the same type and shape.")
    .Output(0, "dataset", "The tensor, in place.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(AtomicAppend)
    .NonTensorInputs({0})
    .NumInputs(3, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .NumInputsOutputs([](int inputs, int outputs) { return inputs == 2 * outputs + 1; })
    .EnforceInplace([](int input, int output) { return input == output + 1; })
    .SetDoc("Appends rows to several tensors under a mutex, so that all of them grow together.")
    .Input(0, "mutex", "A mutex made by CreateMutex.")
    .Input(1, "dataset", "Tensors that grow; as many with new rows follow.")
    .Input(2, "new_data", "Rows of the same types and shapes, in the same order.")
    .Output(0, "dataset", "The tensors, in place.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(CreateTensorVector)
    .NonTensorOutputs({0})
    .NumInputs(0)
    .NumOutputs(1)
    .SetDoc("Makes an empty list of tensors.")
    .Output(0, "tv", "The list, a blob that is not a tensor.")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(TensorVectorSize)
    .NonTensorInputs({0})
    .NumInputs(1)
    .NumOutputs(1)
    .ScalarType(TensorProto::INT32)
    .SetDoc("The number of tensors in a list.")
    .Input(0, "tensor_vector", "A list of tensors.")
    .Output(0, "size", "An int32 scalar.")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(ConcatTensorVector)
    .NonTensorInputs({0})
    .NumInputs(1)
    .NumOutputs(1)
    .SetDoc("The rows of all tensors of a list, one after another.")
    .Input(0, "vector of Tensor", "A list of tensors; not empty.")
    .Output(0, "tensor", "Their rows.")
    .CpuOnly(cpu_only::kCollections);
OPERATOR_SCHEMA(CollectTensor)
    .NumInputs([](int n) { return n > 0 && n % 2 == 0; })
    .NumOutputs(1, OpSchema::kUnlimited)
    .NumInputsOutputs([](int inputs, int outputs) { return inputs == 2 * outputs; })
    .EnforceInplace([](int input, int output) { return input == output; })
    .SetDoc(
        "Keeps a random sample of its input tensors: each tensor so far is kept with the same "
        "probability. Tensors of one run are kept together.")
    .Arg<int>("num_to_collect", "(> 0) The most tensors of a list.", true)
    .Input(0, "tensor_vectors", "Lists of tensors; as many tensors follow.")
    .Input(1, "tensors", "The tensors to collect, in the same order.")
    .Output(0, "tensor_vectors", "The lists, in place.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(PackRecords)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1)
    .ArgList<std::string>("fields", "The names of the columns, as for CreateTreeCursor.")
    .Arg<bool>("pack_to_single_shared_ptr",
               "(default false) 1: all records become one element, a list of the columns.")
    .SetDoc("Splits columns into records: each is a list with one tensor for each column.")
    .Input(0, "field_0", "The first column; the others follow.")
    .Output(0, "tensor", "One-dimensional: the records, shared lists of tensors.")
    .CpuOnly(cpu_only::kRecords);
OPERATOR_SCHEMA(UnPackRecords)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .ArgList<std::string>("fields", "The names of the columns, as for CreateTreeCursor.")
    .SetDoc("Joins records to columns.")
    .Input(0, "packed_tensor",
           "The records; prototypes may follow: columns of the same shapes and "
           "types, which are used if there are no records.")
    .Output(0, "field_0", "The first column; the others follow.")
    .CpuOnly(cpu_only::kRecords);
SHOULD_NOT_DO_GRADIENT(Append);
SHOULD_NOT_DO_GRADIENT(AtomicAppend);
SHOULD_NOT_DO_GRADIENT(CreateTensorVector);
SHOULD_NOT_DO_GRADIENT(TensorVectorSize);
SHOULD_NOT_DO_GRADIENT(ConcatTensorVector);
SHOULD_NOT_DO_GRADIENT(CollectTensor);
SHOULD_NOT_DO_GRADIENT(PackRecords);
SHOULD_NOT_DO_GRADIENT(UnPackRecords);

}  // namespace caffe2
