// NGramFromCategorical: converts several categories to one number.
#include <cmath>
#include <unordered_map>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/indices.h"

namespace caffe2 {
namespace {

class NGramFromCategoricalOp final : public Operator<CPUContext> {
 public:
  NGramFromCategoricalOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), columns_(GetRepeatedArgument<int64_t>("col_ids")) {
    const auto limits = GetRepeatedArgument<int64_t>("categorical_limits");
    const auto values = GetRepeatedArgument<int64_t>("vals");
    CAFFE_ENFORCE(limits.size() == columns_.size(),
                  "argument categorical_limits must have one limit for each of col_ids: there are ",
                  limits.size(), " limits and ", columns_.size(), " columns");
    int64_t base = 1;
    size_t next = 0;
    for (const int64_t limit : limits) {
      CAFFE_ENFORCE(limit > 0 && limit <= static_cast<int64_t>(values.size() - next),
                    "a categorical limit must be from 1 to the ", values.size() - next,
                    " vals that are left, found ", limit);
      digits_.emplace_back();
      for (int64_t rank = 0; rank < limit; ++rank) digits_.back()[values[next++]] = rank * base;
      base = CheckedNumel({base, limit});
      CAFFE_ENFORCE(base <= int64_t{1} << 31, "the product of categorical_limits must be at most ",
                    int64_t{1} << 31, ", found ", base);
    }
    CAFFE_ENFORCE(next == values.size(),
                  "argument vals must have as many values as categorical_limits add up to: ", next,
                  " are needed, found ", values.size());
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 2, "floats must be a matrix, found shape ", ShapeString(X.sizes()));
    CheckIndices(static_cast<int64_t>(columns_.size()), columns_.data(), X.size(1));
    const float* x = X.data<float>();
    Output(0)->Resize(X.size(0));
    int32_t* y = Output(0)->mutable_data<int32_t>();
    for (int64_t i = 0; i < X.size(0); ++i, x += X.size(1)) {
      int64_t sum = 0;
      for (size_t c = 0; c < columns_.size(); ++c) {
        const auto found = digits_[c].find(std::llround(x[columns_[c]]));
        if (found != digits_[c].end()) sum += found->second;
      }
      y[i] = static_cast<int32_t>(sum);
    }
    return true;
  }

 private:
  std::vector<int64_t> columns_;
  std::vector<std::unordered_map<int64_t, int64_t>> digits_;  // value -> digit times its base
};

}  // namespace

REGISTER_CPU_OPERATOR(NGramFromCategorical, NGramFromCategoricalOp);
OPERATOR_SCHEMA(NGramFromCategorical)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims_size() > 0 ? in[0].dims(0) : 0}, TensorProto::INT32)};
    })
    .SetDoc(
        "One number for the categories in some columns of each row. A column counts as a digit: "
        "the place of its value among the column's values, or 0 for another value; its base is the "
        "product of the limits of the columns before it.")
    .ArgList<int>("col_ids", "The columns.", true)
    .ArgList<int>("categorical_limits", "(each > 0) The number of values of each column.", true)
    .ArgList<int>("vals", "The values of all columns, column by column.", true)
    .Input(0, "floats", "A float matrix; elements are rounded to the nearest integer.")
    .Output(0, "n-gram", "int32, one for each row.")
    .CpuOnly(cpu_only::kRecordFeatures);
SHOULD_NOT_DO_GRADIENT(NGramFromCategorical);

}  // namespace caffe2
