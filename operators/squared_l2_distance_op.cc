#include "operators/squared_l2_distance_op.h"

namespace caffe2 {
namespace {

// The number of rows; throws if the shapes differ.
int64_t CheckRows(const Tensor& x, const Tensor& y) {
  CAFFE_ENFORCE(x.sizes() == y.sizes(), "X ", ShapeString(x.sizes()), " and Y ",
                ShapeString(y.sizes()), " must have one shape");
  return x.dim() == 0 ? 1 : x.size(0);
}

}  // namespace

template <>
bool SquaredL2DistanceOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &y = Input(1);
  const int64_t rows = CheckRows(x, y), d = rows == 0 ? 0 : x.numel() / rows;
  const float *x_data = x.data<float>(), *y_data = y.data<float>();
  Tensor* distance = Output(0);
  distance->Resize(rows);
  float* distance_data = distance->mutable_data<float>();
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t j = i * d; j < (i + 1) * d; ++j) {
      const double difference = static_cast<double>(x_data[j]) - y_data[j];
      sum += difference * difference;
    }
    distance_data[i] = static_cast<float>(sum / 2);
  }
  return true;
}

template <>
bool SquaredL2DistanceGradientOp<CPUContext>::RunOnDevice() {
  const Tensor &x = Input(0), &y = Input(1), &d_distance = Input(2);
  const int64_t rows = CheckRows(x, y), d = rows == 0 ? 0 : x.numel() / rows;
  CAFFE_ENFORCE_EQ(d_distance.numel(), rows, "gradient ", ShapeString(d_distance.sizes()));
  const float *x_data = x.data<float>(), *y_data = y.data<float>(),
              *d_data = d_distance.data<float>();
  Tensor *dx = Output(0), *dy = Output(1);
  dx->ResizeLike(x);
  dy->ResizeLike(y);
  float *dx_data = dx->mutable_data<float>(), *dy_data = dy->mutable_data<float>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i * d; j < (i + 1) * d; ++j) {
      dx_data[j] = d_data[i] * (x_data[j] - y_data[j]);
      dy_data[j] = -dx_data[j];
    }
  }
  return true;
}

REGISTER_CPU_OPERATOR(SquaredL2Distance, SquaredL2DistanceOp<CPUContext>);
REGISTER_CPU_OPERATOR(SquaredL2DistanceGradient, SquaredL2DistanceGradientOp<CPUContext>);

OPERATOR_SCHEMA(SquaredL2Distance)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape({in[0].dims_size() == 0 ? 1 : in[0].dims(0)}, in[0].data_type())};
    })
    .SetDoc("distance[i] = 1/2 * (sum over the row of (X - Y)^2), where rows are along axis 0.")
    .Input(0, "X", "A float tensor [N, ...].")
    .Input(1, "Y", "Another of the same shape.")
    .Output(0, "distance", "A float vector of N distances.");
OPERATOR_SCHEMA(SquaredL2DistanceGradient)
    .NumInputs(3)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc("The gradients of SquaredL2Distance: dX = d_distance * (X - Y), dY = -dX.")
    .Input(0, "X", "As in SquaredL2Distance.")
    .Input(1, "Y", "As in SquaredL2Distance.")
    .Input(2, "d_distance", "The gradient of the distances.")
    .Output(0, "dX", "The gradient of X.")
    .Output(1, "dY", "The gradient of Y.");

class GetSquaredL2DistanceGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("SquaredL2DistanceGradient", "", std::vector{I(0), I(1), GO(0)},
                             std::vector{GI(0), GI(1)});
  }
};
REGISTER_GRADIENT(SquaredL2Distance, GetSquaredL2DistanceGradient);

}  // namespace caffe2
