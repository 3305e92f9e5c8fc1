// WeightedSample: a random column of each row, drawn by weights.
#include <cmath>

#include "caffe2/core/operator.h"

namespace caffe2 {
namespace {

class WeightedSampleOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& W = Input(0);
    CAFFE_ENFORCE(W.dim() == 2 && OutputSize() == InputSize(), "weights ", ShapeString(W.sizes()),
                  " must be a matrix; there are as many outputs as inputs");
    const float *weights = W.data<float>(), *values = nullptr;
    if (InputSize() > 1) {
      CAFFE_ENFORCE(Input(1).sizes() == W.sizes(), "values ", ShapeString(Input(1).sizes()),
                    " for weights ", ShapeString(W.sizes()));
      values = Input(1).data<float>();
    }
    const int64_t columns = W.size(1), rows = columns == 0 ? 0 : W.size(0);
    Output(0)->Resize(rows);
    int* index = Output(0)->mutable_data<int>();
    float* value = nullptr;
    if (values != nullptr) {
      Output(1)->Resize(rows);
      value = Output(1)->mutable_data<float>();
    }
    for (int64_t i = 0; i < rows; ++i, weights += columns) {
      const int64_t drawn = Draw(i, columns, weights);
      index[i] = static_cast<int>(drawn);
      if (value != nullptr) value[i] = values[i * columns + drawn];
    }
    return true;
  }

 private:
  int64_t Draw(int64_t row, int64_t n, const float* weights) {
    double sum = 0;
    int64_t last = 0;  // that can be drawn
    for (int64_t j = 0; j < n; ++j) {
      CAFFE_ENFORCE(weights[j] >= 0 && std::isfinite(weights[j]), "weight ", j, " of row ", row,
                    " is ", weights[j]);
      sum += weights[j];
      if (weights[j] > 0) last = j;
    }
    CAFFE_ENFORCE_GT(sum, 0, "the sum of the weights of row ", row);
    double left = context_.random().UniformDouble() * sum;
    for (int64_t j = 0; j < last; ++j) {
      left -= weights[j];
      if (left < 0) return j;
    }
    return last;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(WeightedSample, WeightedSampleOp);
OPERATOR_SCHEMA(WeightedSample)
    .NumInputs(1, 2)
    .NumOutputs(1, 2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() != 2) {
        return std::vector<TensorShape>(def.output_size(), UnknownTensorShape());
      }
      const int64_t rows = in[0].dims(1) == 0 ? 0 : in[0].dims(0);
      std::vector<TensorShape> out{CreateTensorShape({rows}, TensorProto::INT32)};
      out.resize(def.output_size(), CreateTensorShape({rows}, TensorProto::FLOAT));
      return out;
    })
    .SetDoc("Draws a column for each row of a matrix, with probabilities in proportion to weights.")
    .Input(0, "sampling_weights", "A float matrix, none negative, each row with one above 0.")
    .Input(1, "sampling_values", "Optional: a float matrix of its shape.")
    .Output(0, "sampled_indexes", "int32: the column that was drawn for each row.")
    .Output(1, "sampled_values", "Float, with values given: those at these columns.");
SHOULD_NOT_DO_GRADIENT(WeightedSample);

}  // namespace caffe2
