// Lists of ids: MergeIdLists, DenseVectorToIdList, KeySplit, IndexHash.
#include <algorithm>
#include <limits>

#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"
#include "operators/common/indices.h"
#include "operators/segment/segments.h"

namespace caffe2 {
namespace {

// Inputs are pairs of lengths and ids.
class MergeIdListsOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(1).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    std::vector<Segments> lists;
    for (int i = 0; i < InputSize(); i += 2) {
      lists.push_back(Segments::FromLengths(Input(i), Input(i + 1).numel()));
      CAFFE_ENFORCE(lists.back().count() == lists[0].count(),
                    "all inputs must have the same number of lengths: input ", i, " has ",
                    lists.back().count(), ", input 0 ", lists[0].count());
      Input(i + 1).data<T>();  // of the right type, and with data
    }
    std::vector<T> merged, list;
    Output(0)->Resize(lists[0].count());
    int* length = Output(0)->mutable_data<int>();
    for (int64_t s = 0; s < lists[0].count(); ++s) {
      list.clear();
      for (size_t k = 0; k < lists.size(); ++k) {
        const T* ids = Input(static_cast<int>(2 * k + 1)).data<T>() + lists[k].entry(s, 0);
        list.insert(list.end(), ids, ids + lists[k].length(s));
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      length[s] = static_cast<int>(list.size());
      merged.insert(merged.end(), list.begin(), list.end());
    }
    Output(1)->Resize(static_cast<int64_t>(merged.size()));
    std::copy(merged.begin(), merged.end(), Output(1)->mutable_data<T>());
    return true;
  }
};

// The columns of each row that are not zero.
class DenseVectorToIdListOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override { return NumericTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 2, "values must be a matrix, found shape ", ShapeString(X.sizes()));
    const int64_t rows = X.size(0), columns = X.size(1);
    CAFFE_ENFORCE(columns <= std::numeric_limits<int>::max(), "values has ", columns,
                  " columns, more than ", std::numeric_limits<int>::max());
    const T* x = X.data<T>();
    Output(0)->Resize(rows);
    int* length = Output(0)->mutable_data<int>();
    std::vector<int> ids;
    for (int64_t r = 0; r < rows; ++r, x += columns) {
      const size_t before = ids.size();
      for (int c = 0; c < static_cast<int>(columns); ++c) {
        if (Widen(x[c]) != 0) ids.push_back(c);
      }
      length[r] = static_cast<int>(ids.size() - before);
    }
    Output(1)->Resize(static_cast<int64_t>(ids.size()));
    std::copy(ids.begin(), ids.end(), Output(1)->mutable_data<int>());
    return true;
  }
};

class KeySplitOp final : public Operator<CPUContext> {
 public:
  KeySplitOp(const OperatorDef& def, Workspace* ws) : Operator<CPUContext>(def, ws) {
    CAFFE_ENFORCE(GetSingleArgument<int>("categorical_limit", 0) == OutputSize(),
                  "argument categorical_limit must be the number of outputs: it is ",
                  GetSingleArgument<int>("categorical_limit", 0), ", there are ", OutputSize(),
                  " outputs");
  }
  bool RunOnDevice() override {
    const std::vector<int64_t> keys = ReadIndices(Input(0), OutputSize());
    std::vector<std::vector<int>> places(OutputSize());
    for (size_t i = 0; i < keys.size(); ++i) places[keys[i]].push_back(static_cast<int>(i));
    for (int k = 0; k < OutputSize(); ++k) {
      Output(k)->Resize(static_cast<int64_t>(places[k].size()));
      std::copy(places[k].begin(), places[k].end(), Output(k)->mutable_data<int>());
    }
    return true;
  }
};

class IndexHashOp final : public Operator<CPUContext> {
 public:
  IndexHashOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        seed_(GetSingleArgument<int64_t>("seed", 0)),
        modulo_(GetSingleArgument<int64_t>("modulo", 0)) {
    CAFFE_ENFORCE(modulo_ > 0, "argument modulo must be positive, found ", modulo_);
  }
  bool RunOnDevice() override { return IndexTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    CAFFE_ENFORCE(modulo_ <= static_cast<int64_t>(std::numeric_limits<T>::max()),
                  "argument modulo (", modulo_, ") does not fit ids of type ", TypeName<T>::Get());
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    Output(0)->ResizeLike(X);
    T* y = Output(0)->mutable_data<T>();
    for (int64_t i = 0; i < X.numel(); ++i) y[i] = Hash(x[i]);
    return true;
  }

 private:
  // Caffe2's hash: over the bytes, as signed numbers, with T's overflow.
  template <typename T>
  T Hash(T id) const {
    using Bits = std::make_unsigned_t<T>;
    auto hash = static_cast<Bits>(static_cast<uint64_t>(seed_) * 0xDEADBEEFu);
    for (size_t i = 0; i < sizeof(T); ++i) {
      const auto byte = static_cast<int8_t>(static_cast<Bits>(id) >> (8 * i));
      hash = static_cast<Bits>(hash * Bits{65537} + static_cast<Bits>(byte));
    }
    const int64_t rest = static_cast<int64_t>(static_cast<T>(hash)) % modulo_;
    return static_cast<T>(rest < 0 ? rest + modulo_ : rest);
  }

  int64_t seed_, modulo_;
};

}  // namespace

REGISTER_CPU_OPERATOR(MergeIdLists, MergeIdListsOp);
REGISTER_CPU_OPERATOR(DenseVectorToIdList, DenseVectorToIdListOp);
REGISTER_CPU_OPERATOR(KeySplit, KeySplitOp);
REGISTER_CPU_OPERATOR(IndexHash, IndexHashOp);
OPERATOR_SCHEMA(MergeIdLists)
    .NumInputs([](int n) { return n > 0 && n % 2 == 0; })
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), TensorProto::INT32),
                                      UnknownTensorShape()};
    })
    .SetDoc("Merges several lists of ids for each sample into one, sorted and without repetition.")
    .Input(0, "lengths_0", "int32 or int64: the length of each sample's list.")
    .Input(1, "values_0", "int32 or int64 ids. More pairs may follow, with ids of this type.")
    .Output(0, "merged_lengths", "int32: the lengths of the merged lists.")
    .Output(1, "merged_values", "Their ids; their number is known at run time only.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(DenseVectorToIdList)
    .NumInputs(1)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out(2, UnknownTensorShape());
      if (in[0].dims_size() > 0) out[0] = CreateTensorShape({in[0].dims(0)}, TensorProto::INT32);
      return out;
    })
    .SetDoc("For each sample the columns of a matrix that are not zero: a list of ids.")
    .Input(0, "values", "Samples x ids, of any type of numbers.")
    .Output(0, "out_lengths", "int32: the length of each sample's list.")
    .Output(1, "out_values", "int32: the ids, ascending in each list.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(KeySplit)
    .NumInputs(1)
    .NumOutputs(1, OpSchema::kUnlimited)
    .SetDoc("For each key from 0, the places where it occurs.")
    .Arg<int>("categorical_limit", "The number of keys, equal to the number of outputs.", true)
    .Input(0, "keys", "int32 or int64, one-dimensional.")
    .Output(0, "places", "int32: the places of key 0; the places of the other keys follow.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(IndexHash)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Hashes ids to [0, modulo). Equal seeds give Caffe2's hashes.")
    .Arg<int>("seed", "(default 0) Makes another hash.")
    .Arg<int>("modulo", "(> 0) The number of different hashes. Must be given.")
    .Input(0, "Indices", "int32 or int64 ids.")
    .Output(0, "HashedIndices", "The hashes, of their type and shape; may overwrite them.")
    .CpuOnly(cpu_only::kRecordFeatures);
SHOULD_NOT_DO_GRADIENT(MergeIdLists);
SHOULD_NOT_DO_GRADIENT(DenseVectorToIdList);
SHOULD_NOT_DO_GRADIENT(KeySplit);
SHOULD_NOT_DO_GRADIENT(IndexHash);

}  // namespace caffe2
