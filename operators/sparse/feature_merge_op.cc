// Merge{Dense,Single*,Multi*}FeatureTensors: merge features of examples into one record that names
// the features of each example.
//
// A feature gives each example some entries: a Single feature at most one, whose key is the
// feature's id; a Multi feature any number, each with a key of its own. An entry holds one value
// (Scalar), a list of values (List) or of keys and values (Map). The merged record lists the
// entries example by example, and within an example feature by feature.
#include <algorithm>
#include <numeric>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/indices.h"
#include "operators/common/row_copier.h"
#include "operators/segment/segments.h"

namespace caffe2 {
namespace {

// The positions of a feature's parts among its `stride` inputs; -1 for a missing part.
struct FeatureInputs {
  int stride;
  int entries;        // lengths: entries of each example (Multi)
  int presence;       // bool: whether an example has its entry (Single)
  int keys;           // of the entries (Multi)
  int value_lengths;  // values of each entry (List, Map)
  int value_keys;     // (Map)
  int values;
};

constexpr FeatureInputs kSingleScalar{2, -1, 1, -1, -1, -1, 0};
constexpr FeatureInputs kSingleList{3, -1, 2, -1, 0, -1, 1};
constexpr FeatureInputs kSingleMap{4, -1, 3, -1, 0, 1, 2};
constexpr FeatureInputs kMultiScalar{3, 0, -1, 1, -1, -1, 2};
constexpr FeatureInputs kMultiList{4, 0, -1, 1, 2, -1, 3};
constexpr FeatureInputs kMultiMap{5, 0, -1, 1, 2, 3, 4};
// The inputs of a feature for the gradient operators. The gradient of the values is the last input.
constexpr FeatureInputs kSingleScalarGradient{1, -1, 0, -1, -1, -1, -1};
constexpr FeatureInputs kSingleListGradient{2, -1, 1, -1, 0, -1, -1};
constexpr FeatureInputs kMultiScalarGradient{1, 0, -1, -1, -1, -1, -1};
constexpr FeatureInputs kMultiListGradient{2, 0, -1, -1, 1, -1, -1};

// Consecutive rows of one feature.
struct RowRun {
  int feature;
  int64_t begin, count;
};

// The order in which the merged record takes the rows of its features.
struct MergePlan {
  std::vector<int32_t> lengths;  // entries of each example
  std::vector<RowRun> entries, values;
  std::vector<int64_t> entry_rows, value_rows;  // of each feature, with omitted scalars
};

// The entries that a feature gives to each example, as runs of its rows.
struct FeatureEntries {
  std::vector<RowRun> runs;  // one for each example
  int64_t rows = 0;
};

FeatureEntries ReadEntries(const OperatorBase& op, const FeatureInputs& inputs, int feature) {
  FeatureEntries entries;
  const int first = feature * inputs.stride;
  if (inputs.presence >= 0) {
    const Tensor& presence = op.Input<Tensor>(first + inputs.presence);
    const bool* present = presence.data<bool>();
    for (int64_t e = 0; e < presence.numel(); ++e) entries.runs.push_back({feature, e, present[e]});
    entries.rows = presence.numel();
  } else {
    const Segments segments = Segments::FromLengths(op.Input<Tensor>(first + inputs.entries));
    for (int64_t e = 0; e < segments.count(); ++e) {
      entries.runs.push_back({feature, segments.entry(e, 0), segments.length(e)});
    }
    entries.rows = segments.size();
  }
  return entries;
}

// The values of each entry of a feature, by its lengths. The values do not include any of an
// example that lacks its entry, whatever its length.
Segments ReadValues(const OperatorBase& op, const FeatureInputs& inputs, int feature,
                    const FeatureEntries& entries) {
  const int input = feature * inputs.stride + inputs.value_lengths;
  const Segments all = Segments::FromLengths(op.Input<Tensor>(input));
  CAFFE_ENFORCE(all.count() == entries.rows, "the lengths in input ", input,
                " must add up to the entries of feature ", feature, ": there are ", all.count(),
                " and ", entries.rows);
  if (inputs.presence < 0) return all;
  Tensor lengths({all.count()}, CPU);
  int64_t* length = lengths.mutable_data<int64_t>();
  for (const RowRun& run : entries.runs) *length++ = run.count * all.length(run.begin);
  return Segments::FromLengths(lengths);
}

MergePlan MakePlan(const OperatorBase& op, const FeatureInputs& inputs, int features) {
  MergePlan plan;
  std::vector<FeatureEntries> entries;
  std::vector<Segments> values;  // of the entries of each feature
  for (int f = 0; f < features; ++f) {
    entries.push_back(ReadEntries(op, inputs, f));
    plan.entry_rows.push_back(entries[f].rows);
    CAFFE_ENFORCE(entries[f].runs.size() == entries[0].runs.size(),
                  "all features must have the same number of examples: feature ", f, " has ",
                  entries[f].runs.size(), ", feature 0 ", entries[0].runs.size());
    if (inputs.value_lengths < 0) continue;
    values.push_back(ReadValues(op, inputs, f, entries[f]));
    plan.value_rows.push_back(values[f].size());
  }
  for (size_t e = 0; e < entries[0].runs.size(); ++e) {
    int64_t length = 0;
    for (int f = 0; f < features; ++f) {
      const RowRun& run = entries[f].runs[e];
      if (run.count == 0) continue;
      length += run.count;
      plan.entries.push_back(run);
      if (values.empty()) continue;
      const int64_t begin = values[f].entry(run.begin, 0);
      const int64_t last = run.begin + run.count - 1;
      plan.values.push_back({f, begin, values[f].entry(last, 0) + values[f].length(last) - begin});
    }
    CAFFE_ENFORCE(length <= std::numeric_limits<int32_t>::max(), "example ", e, " has ", length,
                  " entries, more than ", std::numeric_limits<int32_t>::max());
    plan.lengths.push_back(static_cast<int32_t>(length));
  }
  if (values.empty()) {
    plan.values = plan.entries;
    plan.value_rows = plan.entry_rows;
  }
  return plan;
}

int64_t CountRows(const std::vector<RowRun>& runs) {
  return std::accumulate(runs.begin(), runs.end(), int64_t{0},
                         [](int64_t sum, const RowRun& run) { return sum + run.count; });
}

// Joins the rows of input `position` of all features, of one type, in one column.
void MergeColumn(const OperatorBase& op, const FeatureInputs& inputs, int position,
                 const std::vector<RowRun>& runs, const std::vector<int64_t>& rows,
                 Tensor* merged) {
  const Tensor& model = op.Input<Tensor>(position);
  const TypeMeta meta = model.dtype();
  for (size_t f = 0; f < rows.size(); ++f) {
    const int input = static_cast<int>(f) * inputs.stride + position;
    const Tensor& column = op.Input<Tensor>(input);
    CAFFE_ENFORCE(column.dim() == 1 && column.has_data() && column.numel() == rows[f] &&
                      column.dtype() == meta,
                  "input ", input, " is ", column.DebugString(), ", and must be ", rows[f],
                  " elements of ", meta.name());
  }
  merged->Resize(CountRows(runs));
  char* to = static_cast<char*>(merged->raw_mutable_data(meta));
  for (const RowRun& run : runs) {
    const Tensor& column = op.Input<Tensor>(run.feature * inputs.stride + position);
    const char* from = static_cast<const char*>(column.raw_data());
    CopyItems(meta, run.count, from + run.begin * meta.itemsize(), to);
    to += run.count * meta.itemsize();
  }
}

// Outputs: lengths, keys, [value lengths, [value keys]], values.
template <FeatureInputs inputs>
class MergeFeaturesOp final : public Operator<CPUContext> {
 public:
  MergeFeaturesOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        ids_(GetRepeatedArgument<int64_t>("feature_ids")),
        features_(InputSize() / inputs.stride) {
    if constexpr (inputs.presence >= 0) {
      CAFFE_ENFORCE(static_cast<int>(ids_.size()) == features_,
                    "argument feature_ids must have one id for each of the ", features_,
                    " features, found ", ids_.size());
    }
  }

  bool RunOnDevice() override {
    const MergePlan plan = MakePlan(*this, inputs, features_);
    Output(0)->Resize(static_cast<int64_t>(plan.lengths.size()));
    std::copy(plan.lengths.begin(), plan.lengths.end(),
              Output(0)->template mutable_data<int32_t>());
    if constexpr (inputs.presence >= 0) {
      WriteIds(plan);
    } else {
      MergeColumn(*this, inputs, inputs.keys, plan.entries, plan.entry_rows, Output(1));
    }
    int next = 2;
    if constexpr (inputs.value_lengths >= 0) {
      MergeColumn(*this, inputs, inputs.value_lengths, plan.entries, plan.entry_rows,
                  Output(next++));
    }
    if constexpr (inputs.value_keys >= 0) {
      MergeColumn(*this, inputs, inputs.value_keys, plan.values, plan.value_rows, Output(next++));
    }
    MergeColumn(*this, inputs, inputs.values, plan.values, plan.value_rows, Output(next));
    return true;
  }

 private:
  void WriteIds(const MergePlan& plan) {
    Output(1)->Resize(CountRows(plan.entries));
    int64_t* key = Output(1)->template mutable_data<int64_t>();
    for (const RowRun& run : plan.entries) *key++ = ids_[run.feature];
  }

  std::vector<int64_t> ids_;
  int features_;
};

// The gradient of each feature's values; omitted scalars get zeros.
template <FeatureInputs inputs>
class MergeFeaturesGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    CAFFE_ENFORCE(InputSize() == OutputSize() * inputs.stride + 1, "there must be ",
                  OutputSize() * inputs.stride + 1, " inputs for ", OutputSize(),
                  " outputs, found ", InputSize());
    const MergePlan plan = MakePlan(*this, inputs, OutputSize());
    const Tensor& dY = Input(InputSize() - 1);
    CAFFE_ENFORCE(dY.dim() == 1 && dY.numel() == CountRows(plan.values), "the gradient ",
                  ShapeString(dY.sizes()), " must have an element for each of ",
                  CountRows(plan.values), " values");
    std::vector<RowCopier> outputs;
    std::vector<int64_t> written(OutputSize(), 0);
    for (int f = 0; f < OutputSize(); ++f) outputs.emplace_back(dY, plan.value_rows[f], Output(f));
    int64_t from = 0;
    for (const RowRun& run : plan.values) {
      outputs[run.feature].AppendZeros(run.begin - written[run.feature]);
      outputs[run.feature].Append(from, run.count);
      from += run.count;
      written[run.feature] = run.begin + run.count;
    }
    for (int f = 0; f < OutputSize(); ++f) {
      outputs[f].AppendZeros(plan.value_rows[f] - written[f]);
    }
    return true;
  }
};

class MergeDenseFeaturesOp final : public Operator<CPUContext> {
 public:
  MergeDenseFeaturesOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), ids_(GetRepeatedArgument<int64_t>("feature_ids")) {}

  bool RunOnDevice() override {
    const Tensor &X = Input(0), &presence = Input(1);
    const auto features = static_cast<int64_t>(ids_.size());
    CAFFE_ENFORCE(X.dim() == 2 && X.size(1) == features && presence.sizes() == X.sizes(),
                  "the features ", ShapeString(X.sizes()), " and their presence ",
                  ShapeString(presence.sizes()), " must be examples x ", features,
                  " (feature_ids)");
    const bool* present = presence.data<bool>();
    const int64_t total = std::count(present, present + presence.numel(), true);
    Output(0)->Resize(X.size(0));
    Output(1)->Resize(total);
    RowCopier values(X, total, Output(2), 2);
    int32_t* length = Output(0)->mutable_data<int32_t>();
    int64_t* key = Output(1)->mutable_data<int64_t>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      if (i % features == 0) length[i / features] = 0;
      if (!present[i]) continue;
      ++length[i / features];
      *key++ = ids_[i % features];
      values.Append(i);
    }
    if (features == 0) std::fill_n(length, X.size(0), 0);
    return true;
  }

 private:
  std::vector<int64_t> ids_;
};

class MergeDenseFeaturesGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &presence = Input(0), &dY = Input(1);
    const bool* present = presence.data<bool>();
    RowCopier dX(dY, presence.numel(), Output(0));
    int64_t from = 0;
    for (int64_t i = 0; i < presence.numel(); ++i) {
      if (present[i]) {
        dX.Append(from++);
      } else {
        dX.AppendZeros(1);
      }
    }
    CAFFE_ENFORCE(from == dY.size(0), "dY must have one row for each of the ", from,
                  " features that are present, found ", dY.size(0));
    Output(0)->Reshape(presence.sizes());
    return true;
  }
};

// Inputs of the gradient: for each feature the inputs of `forward` that give the places of its
// values, then the gradient of the values, the last output.
template <FeatureInputs forward>
class GetMergeFeaturesGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs, outputs;
    for (int first = 0; first < Def().input_size(); first += forward.stride) {
      for (const int part : {forward.entries, forward.value_lengths, forward.presence}) {
        if (part >= 0) inputs.push_back(I(first + part));
      }
      outputs.push_back(GI(first + forward.values));
    }
    inputs.push_back(GO(Def().output_size() - 1));
    return SingleGradientDef(Def().type() + "Gradient", "", inputs, outputs);
  }
};

class GetMergeDenseFeaturesGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("MergeDenseFeatureTensorsGradient", "", std::vector{I(1), GO(2)},
                             std::vector{GI(0)});
  }
};

void DescribeMerged(OpSchema& schema) {
  schema.Output(0, "out_lengths", "int32: entries of each example.")
      .Output(1, "out_keys", "int64: the keys of the entries.")
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const bool single = FindArgument(def, "feature_ids") != nullptr;
        const TensorShape& examples = single ? in.back() : in[0];
        std::vector<TensorShape> out(def.output_size(), UnknownTensorShape());
        out[0] = CreateTensorShape({examples.dims_size() > 0 ? examples.dims(0) : 0},
                                   TensorProto::INT32);
        return out;
      });
}

template <FeatureInputs inputs>
void DescribeFeatures(OpSchema& schema) {
  schema.NumInputs([](int n) { return n > 0 && n % inputs.stride == 0; })
      .NumOutputs(3 + (inputs.value_lengths >= 0 ? 1 : 0) + (inputs.value_keys >= 0 ? 1 : 0))
      .FillUsing(DescribeMerged)
      .Input(inputs.values, "in1_values",
             "Values of any type; the inputs of more features follow, with values of this type.");
  int next = 2;
  if (inputs.presence >= 0) {
    schema.ArgList<int>("feature_ids", "The key of each feature.", true)
        .Input(inputs.presence, "in1_presence", "Bool: whether each example has the feature.");
  } else {
    schema.Input(inputs.entries, "in1_lengths", "int32 or int64: entries of each example.")
        .Input(inputs.keys, "in1_keys", "int64: the keys of the entries.");
  }
  if (inputs.value_lengths >= 0) {
    schema
        .Input(inputs.value_lengths, "in1_values_lengths",
               inputs.presence >= 0 ? "int32: values of each example; the values have none of an "
                                      "example that lacks the feature, whatever it says."
                                    : "int32: values of each entry.")
        .Output(next++, "out_values_lengths", "int32: values of each entry.");
  }
  if (inputs.value_keys >= 0) {
    schema.Input(inputs.value_keys, "in1_values_keys", "The key of each value, of any type.")
        .Output(next++, "out_values_keys", "The key of each value.");
  }
  schema.Output(next, "out_values", "The values of all entries.");
}

template <FeatureInputs inputs>
void DescribeFeaturesGradient(OpSchema& schema) {
  schema.NumInputs([](int n) { return n > 1 && n % inputs.stride == 1 % inputs.stride; })
      .NumOutputs(1, OpSchema::kUnlimited)
      .SetDoc("The gradient of the operator without Gradient in its name.")
      .Input(
          0, inputs.presence == 0 ? "in1_presence" : "in1_lengths",
          "Gives the places of the values of a feature. The same inputs of more features follow, "
          "and then the gradient of the merged values.")
      .Output(0, "in1_values_grad", "The gradient of a feature's values; more follow.");
}

}  // namespace

#define REGISTER_FEATURE_MERGE(name, inputs, gradient_inputs)                      \
  REGISTER_CPU_OPERATOR(name, MergeFeaturesOp<inputs>);                            \
  REGISTER_CPU_OPERATOR(name##Gradient, MergeFeaturesGradientOp<gradient_inputs>); \
  OPERATOR_SCHEMA(name##Gradient)                                                  \
      .FillUsing(DescribeFeaturesGradient<gradient_inputs>)                        \
      .CpuOnly(cpu_only::kRecordFeatures);                                         \
  REGISTER_GRADIENT(name, GetMergeFeaturesGradient<inputs>)

REGISTER_FEATURE_MERGE(MergeSingleScalarFeatureTensors, kSingleScalar, kSingleScalarGradient);
REGISTER_FEATURE_MERGE(MergeSingleListFeatureTensors, kSingleList, kSingleListGradient);
REGISTER_FEATURE_MERGE(MergeSingleMapFeatureTensors, kSingleMap, kSingleListGradient);
REGISTER_FEATURE_MERGE(MergeMultiScalarFeatureTensors, kMultiScalar, kMultiScalarGradient);
REGISTER_FEATURE_MERGE(MergeMultiListFeatureTensors, kMultiList, kMultiListGradient);
REGISTER_FEATURE_MERGE(MergeMultiMapFeatureTensors, kMultiMap, kMultiListGradient);
#undef REGISTER_FEATURE_MERGE
REGISTER_CPU_OPERATOR(MergeDenseFeatureTensors, MergeDenseFeaturesOp);
REGISTER_CPU_OPERATOR(MergeDenseFeatureTensorsGradient, MergeDenseFeaturesGradientOp);
REGISTER_GRADIENT(MergeDenseFeatureTensors, GetMergeDenseFeaturesGradient);

OPERATOR_SCHEMA(MergeDenseFeatureTensors)
    .NumInputs(2)
    .NumOutputs(3)
    .FillUsing(DescribeMerged)
    .SetDoc("Lists the present features of each row of a matrix of features.")
    .ArgList<int>("feature_ids", "The key of each column.", true)
    .Input(0, "in1", "Examples x features, of any type.")
    .Input(1, "in1_presence", "Bool, of the same shape: whether an example has a feature.")
    .Output(2, "out_values", "The values that are present.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(MergeDenseFeatureTensorsGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(GetDimsVector(in[0]), in[1].data_type())};
    })
    .SetDoc("The gradient of MergeDenseFeatureTensors; zero where a feature is not present.")
    .Input(0, "in1_presence", "Bool: whether an example has a feature.")
    .Input(1, "out_values_grad", "The gradient of the values that are present.")
    .Output(0, "in1_grad", "The gradient of the features, shaped like in1_presence.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(MergeSingleScalarFeatureTensors)
    .FillUsing(DescribeFeatures<kSingleScalar>)
    .SetDoc("Merges features of which an example has one value or none.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(MergeSingleListFeatureTensors)
    .FillUsing(DescribeFeatures<kSingleList>)
    .SetDoc("Merges features of which an example has one list of values or none.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(MergeSingleMapFeatureTensors)
    .FillUsing(DescribeFeatures<kSingleMap>)
    .SetDoc("Merges features of which an example has one list of keys and values or none.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(MergeMultiScalarFeatureTensors)
    .FillUsing(DescribeFeatures<kMultiScalar>)
    .SetDoc("Merges records of features with one value each.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(MergeMultiListFeatureTensors)
    .FillUsing(DescribeFeatures<kMultiList>)
    .SetDoc("Merges records of features with a list of values each.")
    .CpuOnly(cpu_only::kRecordFeatures);
OPERATOR_SCHEMA(MergeMultiMapFeatureTensors)
    .FillUsing(DescribeFeatures<kMultiMap>)
    .SetDoc("Merges records of features with a list of keys and values each.")
    .CpuOnly(cpu_only::kRecordFeatures);

}  // namespace caffe2
