// Partition, LengthsPartition, GatherByKey: split entries by key modulo the number of parts, and
// join them.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"
#include "operators/segment/segments.h"

namespace caffe2 {
namespace {

// The part of a key: key modulo parts, never negative.
int64_t PartOf(int64_t key, int64_t parts) { return ((key % parts) + parts) % parts; }

// Splits inputs [first, InputSize()) by the keys in input `first`. Output k of part p is at p *
// InputSize() + k.
class PartitionBase : public Operator<CPUContext> {
 public:
  PartitionBase(const OperatorDef& def, Workspace* ws, int first)
      : Operator<CPUContext>(def, ws),
        first_(first),
        parts_(OutputSize() / InputSize()),
        pack_(GetSingleArgument<int>("pack_first_input", 0) != 0) {
    CAFFE_ENFORCE(parts_ > 0 && OutputSize() % InputSize() == 0,
                  "the number of outputs must be a multiple of the number of inputs: there are ",
                  OutputSize(), " outputs and ", InputSize(), " inputs");
  }

 protected:
  std::vector<int64_t> ReadKeys() const { return ReadIntegers(Input(first_), "the keys"); }

  void Split(const std::vector<int64_t>& keys) {
    std::vector<int64_t> counts(parts_, 0);
    for (const int64_t key : keys) ++counts[PartOf(key, parts_)];
    const int num_dims = Input(first_).dim();
    for (int k = first_; k < InputSize(); ++k) {
      const Tensor& X = Input(k);
      CAFFE_ENFORCE(
          X.dim() >= num_dims && X.has_data() &&
              std::equal(X.sizes().begin(), X.sizes().begin() + num_dims,
                         Input(first_).sizes().begin()),
          "input ", k, " must have the keys' shape as its first axes, and hold elements: input ", k,
          " is ", X.DebugString(), ", the keys have shape ", ShapeString(Input(first_).sizes()));
      std::vector<RowCopier> rows;
      for (int64_t p = 0; p < parts_; ++p) {
        rows.emplace_back(X, counts[p], Output(static_cast<int>(p * InputSize()) + k), num_dims);
      }
      for (size_t i = 0; i < keys.size(); ++i) {
        rows[PartOf(keys[i], parts_)].Append(static_cast<int64_t>(i));
      }
    }
    if (pack_) DivideKeys();
  }

  const int first_;
  const int64_t parts_;

 private:
  // Divides the keys of all parts by the number of parts.
  void DivideKeys() {
    for (int64_t p = 0; p < parts_; ++p) {
      Tensor* keys = Output(static_cast<int>(p * InputSize()) + first_);
      for (int64_t i = 0; i < keys->numel(); ++i) {
        if (keys->IsType<int32_t>()) {
          int32_t& key = keys->mutable_data<int32_t>()[i];
          key = static_cast<int32_t>((key - p) / parts_);
        } else {
          int64_t& key = keys->mutable_data<int64_t>()[i];
          key = (key - p) / parts_;
        }
      }
    }
  }
  const bool pack_;
};

class PartitionOp final : public PartitionBase {
 public:
  PartitionOp(const OperatorDef& def, Workspace* ws) : PartitionBase(def, ws, 0) {}
  bool RunOnDevice() override {
    Split(ReadKeys());
    return true;
  }
};

class LengthsPartitionOp final : public PartitionBase {
 public:
  LengthsPartitionOp(const OperatorDef& def, Workspace* ws) : PartitionBase(def, ws, 1) {
    CAFFE_ENFORCE(InputSize() > 1,
                  "there must be at least two inputs, the lengths and the keys; found ",
                  InputSize());
  }
  bool RunOnDevice() override {
    CAFFE_ENFORCE(Input(1).dim() == 1, "the keys must be one-dimensional, found shape ",
                  ShapeString(Input(1).sizes()));
    const std::vector<int64_t> keys = ReadKeys();
    const Segments segments = Segments::FromLengths(Input(0), static_cast<int64_t>(keys.size()));
    Split(keys);
    std::vector<int32_t*> lengths;
    for (int64_t p = 0; p < parts_; ++p) {
      Tensor* Y = Output(static_cast<int>(p * InputSize()));
      Y->Resize(segments.count());
      lengths.push_back(Y->mutable_data<int32_t>());
      std::fill_n(lengths.back(), segments.count(), 0);
    }
    for (int64_t s = 0; s < segments.count(); ++s) {
      for (int64_t k = 0; k < segments.length(s); ++k) {
        ++lengths[PartOf(keys[segments.entry(s, k)], parts_)][s];
      }
    }
    return true;
  }
};

class GatherByKeyOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const std::vector<int64_t> keys = ReadIntegers(Input(0), "the keys");
    const int64_t parts = InputSize() - 1;
    const Tensor& first = Input(1);
    CAFFE_ENFORCE(first.dim() >= 1 && first.has_data(),
                  "part 0 must have at least one axis and hold elements, found ",
                  first.DebugString());
    for (int p = 1; p <= parts; ++p) {
      const Tensor& X = Input(p);
      CAFFE_ENFORCE(
          X.dtype() == first.dtype() && X.dim() == first.dim() && X.has_data() &&
              std::equal(X.sizes().begin() + 1, X.sizes().end(), first.sizes().begin() + 1),
          "part ", p - 1, " must have the type and row shape of part 0: part ", p - 1, " is ",
          X.DebugString(), ", part 0 ", first.DebugString());
    }
    std::vector<int64_t> dims = Input(0).sizes();
    dims.insert(dims.end(), first.sizes().begin() + 1, first.sizes().end());
    Tensor* Y = Output(0);
    Y->Resize(dims);
    const int64_t width = first.size_from_dim(1);
    const size_t row = width * first.itemsize();
    char* y = static_cast<char*>(Y->raw_mutable_data(first.dtype()));
    std::vector<int64_t> next(parts, 0);
    for (size_t i = 0; i < keys.size(); ++i, y += row) {
      const int64_t p = PartOf(keys[i], parts);
      const Tensor& X = Input(static_cast<int>(p) + 1);
      CAFFE_ENFORCE(next[p] < X.size(0), "the keys ask for more than the ", X.size(0),
                    " rows of part ", p);
      context_.CopyItems(X.dtype(), width, static_cast<const char*>(X.raw_data()) + next[p]++ * row,
                         y);
    }
    for (int64_t p = 0; p < parts; ++p) {
      CAFFE_ENFORCE(next[p] == Input(static_cast<int>(p) + 1).size(0), "the keys use ", next[p],
                    " of the ", Input(static_cast<int>(p) + 1).size(0), " rows of part ", p,
                    "; they must use all");
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Partition, PartitionOp);
REGISTER_CPU_OPERATOR(LengthsPartition, LengthsPartitionOp);
REGISTER_CPU_OPERATOR(GatherByKey, GatherByKeyOp);
OPERATOR_SCHEMA(Partition)
    .NumInputs(1, OpSchema::kUnlimited)
    .NumOutputs(1, OpSchema::kUnlimited)
    .SetDoc(
        "Splits tensors into parts by keys modulo the number of parts, which is the number of "
        "outputs for each input. The outputs are all inputs of part 0, then of part 1, ...")
    .Arg<int>("pack_first_input", "(default 0) 1: keys are divided by the number of parts.")
    .Input(0, "input", "int32 or int64 keys. Tensors that begin with its shape may follow.")
    .Output(0, "partitions", "Keys of part 0; further outputs follow.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(LengthsPartition)
    .NumInputs(2, OpSchema::kUnlimited)
    .NumOutputs(2, OpSchema::kUnlimited)
    .SetDoc("Partition of segments: input 0 are lengths, and each part gets lengths of its own.")
    .Arg<int>("pack_first_input", "(default 0) 1: keys are divided by the number of parts.")
    .Input(0, "lengths", "int32 or int64: the number of keys of each segment.")
    .Input(1, "input", "int32 or int64 keys. Tensors with as many rows may follow.")
    .Output(0, "lengths_partition", "int32: the lengths of part 0.")
    .Output(1, "partitions", "Keys of part 0; further outputs follow.")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(GatherByKey)
    .NumInputs(2, OpSchema::kUnlimited)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      for (int i = 1; i < in[1].dims_size(); ++i) dims.push_back(in[1].dims(i));
      return std::vector<TensorShape>{CreateTensorShape(dims, in[1].data_type())};
    })
    .SetDoc("Joins what Partition split: for each key the next row of its part.")
    .Input(0, "keys", "int32 or int64 keys.")
    .Input(1, "sharded_values", "The rows of part 0; the other parts follow.")
    .Output(0, "values", "One row for each key.")
    .CpuOnly(cpu_only::kRecordFeatures);
SHOULD_NOT_DO_GRADIENT(Partition);
SHOULD_NOT_DO_GRADIENT(LengthsPartition);
SHOULD_NOT_DO_GRADIENT(GatherByKey);

}  // namespace caffe2
