// SparseToDenseMask: picks some feature ids out of sparse samples, as dense columns.
#include <unordered_map>

#include "operators/element_type.h"
#include "operators/gradient_rule.h"
#include "operators/indices.h"
#include "operators/segments.h"

namespace caffe2 {
namespace {

constexpr int64_t kMostMissing = 1000;  // default of max_skipped_indices

// What the operator and its gradient share: the column of each wanted id.
class SparseToDenseMaskBase : public Operator<CPUContext> {
 public:
  SparseToDenseMaskBase(const OperatorDef& def, Workspace* ws) : Operator<CPUContext>(def, ws) {
    const auto mask = GetRepeatedArgument<int64_t>("mask");
    CAFFE_ENFORCE(!mask.empty(), "the argument mask must name at least one feature id");
    for (size_t i = 0; i < mask.size(); ++i) {
      CAFFE_ENFORCE(columns_.emplace(mask[i], static_cast<int64_t>(i)).second, "feature id ",
                    mask[i], " occurs twice in the argument mask");
    }
  }

 protected:
  int64_t num_columns() const { return static_cast<int64_t>(columns_.size()); }
  // -1 if the id is not wanted.
  int64_t ColumnOf(int64_t id) const {
    const auto found = columns_.find(id);
    return found == columns_.end() ? -1 : found->second;
  }
  // Without lengths all entries are one sample.
  Segments ReadSamples(int i, int64_t entries) const {
    if (InputSize() > i) return Segments::FromLengths(Input(i), entries);
    return Segments::FromLengths(Tensor({1}, std::vector<int64_t>{entries}));
  }

 private:
  std::unordered_map<int64_t, int64_t> columns_;
};

class SparseToDenseMaskOp final : public SparseToDenseMaskBase {
 public:
  SparseToDenseMaskOp(const OperatorDef& def, Workspace* ws)
      : SparseToDenseMaskBase(def, ws),
        presence_(GetSingleArgument<bool>("return_presence_mask", false)),
        max_skipped_(GetSingleArgument<int64_t>("max_skipped_indices", kMostMissing)) {}

  bool RunOnDevice() override {
    const Tensor &indices = Input(0), &values = Input(1), &fallback = Input(2);
    const std::vector<int64_t> ids = ReadIntegers(indices, "indices");
    const auto entries = static_cast<int64_t>(ids.size());
    const TypeMeta meta = values.dtype();
    CAFFE_ENFORCE(
        indices.dim() == 1 && values.dim() >= 1 && values.size(0) == entries && values.has_data(),
        "values ", ShapeString(values.sizes()), " for indices ", ShapeString(indices.sizes()));
    const int64_t width = values.size_from_dim(1);
    CAFFE_ENFORCE(fallback.dtype() == meta && fallback.numel() == width, "default value ",
                  fallback.DebugString(), " for values ", values.DebugString());
    const Segments samples = ReadSamples(3, entries);
    std::vector<int64_t> dims{samples.count(), num_columns()};
    dims.insert(dims.end(), values.sizes().begin() + 1, values.sizes().end());
    if (InputSize() <= 3) dims.erase(dims.begin());
    Output(0)->Resize(dims);
    char* y = static_cast<char*>(Output(0)->raw_mutable_data(meta));
    const size_t row = width * meta.itemsize();
    const char* x = static_cast<const char*>(values.raw_data());
    const int64_t cells = samples.count() * num_columns();
    for (int64_t i = 0; i < cells; ++i) {
      context_.CopyItems(meta, width, fallback.raw_data(), y + i * row);
    }
    bool* present = presence_ ? MakePresence(samples.count()) : nullptr;
    for (int64_t s = 0, entry = 0; s < samples.count(); ++s) {
      for (const int64_t end = entry + samples.length(s); entry < end; ++entry) {
        const int64_t column = ColumnOf(ids[entry]);
        if (column < 0) {
          Skip(ids[entry]);
          continue;
        }
        const int64_t cell = s * num_columns() + column;
        context_.CopyItems(meta, width, x + entry * row, y + cell * row);
        if (present != nullptr) present[cell] = true;
      }
    }
    return true;
  }

 private:
  bool* MakePresence(int64_t samples) {
    Tensor* mask = Output(1);
    if (InputSize() > 3) {
      mask->Resize(samples, num_columns());
    } else {
      mask->Resize(num_columns());
    }
    bool* present = mask->mutable_data<bool>();
    std::fill_n(present, mask->numel(), false);
    return present;
  }
  // Negative ids are damage; a few of them are tolerated.
  void Skip(int64_t id) {
    if (id >= 0) return;
    ++skipped_;
    CAFFE_ENFORCE_LT(skipped_, max_skipped_, "too many negative feature ids; the last one is ", id);
    if (skipped_ == 1) LOG(WARNING) << "SparseToDenseMask skips the feature id " << id;
  }

  bool presence_;
  int64_t max_skipped_, skipped_ = 0;
};

class SparseToDenseMaskGradientOp final : public SparseToDenseMaskBase {
 public:
  using SparseToDenseMaskBase::SparseToDenseMaskBase;
  bool RunOnDevice() override {
    const Tensor &indices = Input(0), &dY = Input(1);
    const std::vector<int64_t> ids = ReadIntegers(indices, "indices");
    const Segments samples = ReadSamples(2, indices.numel());
    const int axis = InputSize() > 2 ? 1 : 0;
    CAFFE_ENFORCE(dY.dim() > axis && dY.size(axis) == num_columns() &&
                      dY.size_to_dim(axis) == samples.count(),
                  "gradient ", ShapeString(dY.sizes()), " for ", samples.count(), " samples of ",
                  num_columns(), " columns");
    const int64_t width = dY.size_from_dim(axis + 1);
    std::vector<int64_t> dims(dY.sizes().begin() + axis, dY.sizes().end());
    dims[0] = indices.numel();
    Tensor* dX = Output(0);
    dX->Resize(dims);
    const float* dy = dY.data<float>();
    float* dx = dX->mutable_data<float>();
    std::fill_n(dx, dX->numel(), 0.f);
    std::vector<int64_t> last(num_columns());  // of equal ids in a sample, the last one counts
    for (int64_t s = 0, entry = 0; s < samples.count(); ++s) {
      std::fill(last.begin(), last.end(), -1);
      for (const int64_t end = entry + samples.length(s); entry < end; ++entry) {
        const int64_t column = ColumnOf(ids[entry]);
        if (column >= 0) last[column] = entry;
      }
      for (int64_t c = 0; c < num_columns(); ++c) {
        if (last[c] < 0) continue;
        context_.Copy(width, dy + (s * num_columns() + c) * width, dx + last[c] * width);
      }
    }
    return true;
  }
};

class GetSparseToDenseMaskGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs{I(0), GO(0)};
    if (Def().input_size() > 3) inputs.push_back(I(3));
    return SingleGradientDef("SparseToDenseMaskGradient", "", inputs, std::vector{GI(1)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(SparseToDenseMask, SparseToDenseMaskOp);
REGISTER_CPU_OPERATOR(SparseToDenseMaskGradient, SparseToDenseMaskGradientOp);
OPERATOR_SCHEMA(SparseToDenseMask)
    .NumInputs(3, 4)
    .NumOutputs(1, 2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const auto columns =
          static_cast<int64_t>(ArgumentHelper(def).GetRepeatedArgument<int64_t>("mask").size());
      std::vector<int64_t> dims{columns};
      if (in.size() > 3) dims.insert(dims.begin(), in[3].dims_size() > 0 ? in[3].dims(0) : 0);
      std::vector<TensorShape> out(def.output_size(), CreateTensorShape(dims, TensorProto::BOOL));
      for (int i = 1; i < in[1].dims_size(); ++i) dims.push_back(in[1].dims(i));
      out[0] = CreateTensorShape(dims, in[1].data_type());
      return out;
    })
    .SetDoc(
        "Samples of pairs (feature id, value) as a dense tensor with one column for each id of "
        "the argument mask; a default value where a sample lacks the id. Other ids are dropped. "
        "Of equal ids in one sample the last one counts.")
    .Arg("mask", "(list of int) The feature ids, each once.", true)
    .Arg("return_presence_mask", "(bool, default 0) 1: there is a second output.")
    .Arg("max_skipped_indices",
         "(int, default 1000) So many negative ids, of all runs, are an error.")
    .Input(0, "indices", "int32 or int64: the feature ids of all samples, one after another.")
    .Input(1, "values", "Their values, of any type: one row for each id.")
    .Input(2, "default_value", "A value.")
    .Input(3, "lengths",
           "Optional int32 or int64: how many ids each sample has. Default: one sample.")
    .Output(0, "output",
            "[samples, ids of the mask, shape of a value]; no first axis without lengths.")
    .Output(1, "presence_mask", "Bool [samples, ids of the mask]: where there was a value.");
OPERATOR_SCHEMA(SparseToDenseMaskGradient)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[1]);
      if (in.size() > 2 && !dims.empty()) dims.erase(dims.begin());
      if (dims.empty() || in[0].dims_size() == 0) {
        return std::vector<TensorShape>{UnknownTensorShape()};
      }
      dims[0] = in[0].dims(0);
      return std::vector<TensorShape>{CreateTensorShape(dims, in[1].data_type())};
    })
    .SetDoc("The gradient of SparseToDenseMask for the values.")
    .Arg("mask", "As in the forward operator.", true)
    .Input(0, "indices", "As in the forward operator.")
    .Input(1, "d_output", "The gradient of the output, float.")
    .Input(2, "lengths", "As in the forward operator.")
    .Output(0, "d_values", "The gradient of the values; 0 for those that were dropped.");
REGISTER_GRADIENT(SparseToDenseMask, GetSparseToDenseMaskGradient);

}  // namespace caffe2
