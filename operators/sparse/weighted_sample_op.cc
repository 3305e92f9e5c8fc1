// WeightedSample: a random column of each row, drawn by weights. WeightedMultiSampling: random
// elements of a list.
#include <algorithm>
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

void CheckWeight(float weight, const char* what, int64_t i, int64_t row) {
  CAFFE_ENFORCE(weight >= 0 && std::isfinite(weight),
                "a weight must be finite and not negative: weight ", i, " of ", what, " ", row,
                " is ", weight);
}

class WeightedSampleOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& W = Input(0);
    CAFFE_ENFORCE(W.dim() == 2 && OutputSize() == InputSize(),
                  "the weights must be a matrix, and there must be one output for each input: the "
                  "weights have shape ",
                  ShapeString(W.sizes()), ", and there are ", InputSize(), " inputs and ",
                  OutputSize(), " outputs");
    const float *weights = W.data<float>(), *values = nullptr;
    if (InputSize() > 1) {
      CAFFE_ENFORCE(Input(1).sizes() == W.sizes(),
                    "values must have the shape of the weights: values has shape ",
                    ShapeString(Input(1).sizes()), ", the weights ", ShapeString(W.sizes()));
      values = Input(1).data<float>();
    }
    const int64_t columns = W.size(1), rows = columns == 0 ? 0 : W.size(0);
    Output(0)->Resize(rows);
    int* index = Output(0)->mutable_data<int>();
    float* value = nullptr;  // null without values, and without rows
    if (InputSize() > 1) {
      Output(1)->Resize(rows);
      value = Output(1)->mutable_data<float>();
    }
    for (int64_t i = 0; i < rows; ++i, weights += columns) {
      const int64_t drawn = Draw(i, columns, weights);
      index[i] = static_cast<int>(drawn);
      if (InputSize() > 1) value[i] = values[i * columns + drawn];
    }
    return true;
  }

 private:
  int64_t Draw(int64_t row, int64_t n, const float* weights) {
    double sum = 0;
    int64_t last = 0;  // the last column that can be drawn
    for (int64_t j = 0; j < n; ++j) {
      CheckWeight(weights[j], "row", j, row);
      sum += weights[j];
      if (weights[j] > 0) last = j;
    }
    CAFFE_ENFORCE(sum > 0, "the weights of row ", row, " must have a positive sum, found ", sum);
    double left = context_.random().UniformDouble() * sum;
    for (int64_t j = 0; j < last; ++j) {
      left -= weights[j];
      if (left < 0) return j;
    }
    return last;
  }
};

class WeightedMultiSamplingOp final : public Operator<CPUContext> {
 public:
  WeightedMultiSamplingOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), samples_(GetSingleArgument<int64_t>("num_samples", 0)) {
    CAFFE_ENFORCE(samples_ >= 0, "argument num_samples must not be negative, found ", samples_);
    CAFFE_ENFORCE(InputSize() == 1 || !HasArgument("num_samples"),
                  "the argument num_samples and input 1 cannot be used together");
  }

  bool RunOnDevice() override {
    const Tensor& W = Input(0);
    CAFFE_ENFORCE(W.dim() == 1, "the weights must be one-dimensional, found shape ",
                  ShapeString(W.sizes()));
    const float* weights = W.data<float>();
    std::vector<double> sums;
    for (int64_t i = 0; i < W.numel(); ++i) {
      CheckWeight(weights[i], "input", i, 0);
      sums.push_back((sums.empty() ? 0 : sums.back()) + weights[i]);
    }
    if (sums.empty()) {
      Output(0)->Resize(0);
    } else if (InputSize() > 1) {
      Output(0)->ResizeLike(Input(1));
    } else {
      Output(0)->Resize(samples_);
    }
    int32_t* index = Output(0)->mutable_data<int32_t>();
    if (Output(0)->numel() == 0) return true;
    CAFFE_ENFORCE(sums.back() > 0, "the weights must have a positive sum, found ", sums.back());
    for (int64_t i = 0; i < Output(0)->numel(); ++i) index[i] = Draw(sums);
    return true;
  }

 private:
  int32_t Draw(const std::vector<double>& sums) {
    const double drawn = context_.random().UniformDouble() * sums.back();
    auto found = std::upper_bound(sums.begin(), sums.end(), drawn);
    // If rounding reached the sum of all weights, take the last element that can be drawn.
    if (found == sums.end()) found = std::lower_bound(sums.begin(), sums.end(), sums.back());
    return static_cast<int32_t>(found - sums.begin());
  }

  int64_t samples_;
};

}  // namespace

REGISTER_CPU_OPERATOR(WeightedSample, WeightedSampleOp);
REGISTER_CPU_OPERATOR(WeightedMultiSampling, WeightedMultiSamplingOp);
OPERATOR_SCHEMA(WeightedMultiSampling)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims{0};
      if (NumelOf(in[0]) > 0) {
        dims = in.size() > 1 ? GetDimsVector(in[1])
                             : std::vector<int64_t>{ArgumentHelper(def).GetSingleArgument<int64_t>(
                                   "num_samples", 0)};
      }
      return std::vector<TensorShape>{CreateTensorShape(dims, TensorProto::INT32)};
    })
    .SetDoc(
        "Draws elements of a list, with probabilities in proportion to weights. An element may be "
        "drawn several times.")
    .Arg<int>("num_samples", "(>= 0, default 0) The number of samples, without input 1.")
    .Input(0, "sampling_weights", "Float, one-dimensional, none negative, with one above 0.")
    .Input(1, "shape_tensor", "Optional: a tensor with the shape of the output; it is not read.")
    .Output(0, "indices", "int32: the elements that were drawn; none if there are no weights.")
    .CpuOnly(cpu_only::kDecodes);
SHOULD_NOT_DO_GRADIENT(WeightedMultiSampling);
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
    .Output(1, "sampled_values", "Float, if values are given: the values at these columns.")
    .CpuOnly(cpu_only::kDecodes);
SHOULD_NOT_DO_GRADIENT(WeightedSample);

}  // namespace caffe2
