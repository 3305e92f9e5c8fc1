// Int8Quantize, Int8Dequantize and quantized tensors whose values stand in the graph.
#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"
#include "operators/quantized/int8_op.h"

namespace caffe2::int8 {
namespace {

// X -> Y, levels.
class Int8QuantizeOp final : public Int8Operator {
 public:
  Int8QuantizeOp(const OperatorDef& def, Workspace* ws)
      : Int8Operator(def, ws), result_(Quantization::Read(*this)) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const auto* x = X.data<float>();
    Tensor* Y = SetResult(result_);
    Y->ResizeLike(X);
    result_.Quantize(X.numel(), x, Y->mutable_data<uint8_t>());
    return true;
  }

 private:
  const Quantization result_;
};

// Levels or, of biases, sums -> floats.
class Int8DequantizeOp final : public Int8Operator {
 public:
  using Int8Operator::Int8Operator;
  bool RunOnDevice() override {
    const auto& X = Input<Int8TensorCPU>(0);
    return X.t.IsType<int32_t>() ? Dequantize<int32_t>(X) : Dequantize<uint8_t>(X);
  }

 private:
  template <typename T>
  bool Dequantize(const Int8TensorCPU& X) {
    const T* x = X.t.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X.t);
    auto* y = Y->mutable_data<float>();
    const float scale = X.scale;
    const int64_t zero_point = X.zero_point;
    ParallelFor(X.t.numel(), kElementwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = scale * static_cast<float>(x[i] - zero_point);
    });
    return true;
  }
};

// `values` in the shape of `shape`: the bytes of a string, or a list of int32.
template <typename T>
class Int8GivenFillOp final : public Operator<CPUContext> {
 public:
  Int8GivenFillOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        scale_(GetSingleArgument<float>("Y_scale", 1)),
        zero_point_(GetSingleArgument<int32_t>("Y_zero_point", 0)),
        shape_(GetRepeatedArgument<int64_t>("shape")) {
    CAFFE_ENFORCE(scale_ > 0 && std::isfinite(scale_),
                  "argument Y_scale must be positive and finite, found ", scale_);
    if constexpr (std::is_same_v<T, uint8_t>) {
      const auto bytes = GetSingleArgument<std::string>("values", "");
      values_.assign(bytes.begin(), bytes.end());
    } else {
      values_ = GetRepeatedArgument<T>("values");
    }
    CAFFE_ENFORCE(CheckedNumel(shape_) == static_cast<int64_t>(values_.size()),
                  "argument values must have ", CheckedNumel(shape_), " values for the shape ",
                  ShapeString(shape_), ", found ", values_.size());
  }
  bool RunOnDevice() override {
    auto* y = Output<Int8TensorCPU>(0);
    y->scale = scale_;
    y->zero_point = zero_point_;
    y->t.Resize(shape_);
    std::copy(values_.begin(), values_.end(), y->t.template mutable_data<T>());
    return true;
  }

 private:
  const float scale_;
  const int32_t zero_point_;
  const std::vector<int64_t> shape_;
  std::vector<T> values_;
};

template <TensorProto::DataType type>
std::vector<TensorShape> InferAs(const OperatorDef&, const std::vector<TensorShape>& in) {
  return {CreateTensorShape(GetDimsVector(in[0]), type)};
}
template <TensorProto::DataType type>
std::vector<TensorShape> InferGiven(const OperatorDef& def, const std::vector<TensorShape>&) {
  return {CreateTensorShape(ArgumentHelper(def).GetRepeatedArgument<int64_t>("shape"), type)};
}

void DescribeGiven(OpSchema& schema) {
  schema.NumInputs(0)
      .NumOutputs(1)
      .ArgList<int>("shape", "The shape of the result.", true)
      .Arg<float>("Y_scale", "(> 0, default 1) The scale of the result.")
      .Arg<int>("Y_zero_point", "(default 0) The number that stands for 0 in the result.");
}

REGISTER_CPU_OPERATOR(Int8Quantize, Int8QuantizeOp);
REGISTER_CPU_OPERATOR(Int8Dequantize, Int8DequantizeOp);
REGISTER_CPU_OPERATOR(Int8GivenTensorFill, Int8GivenFillOp<uint8_t>);
REGISTER_CPU_OPERATOR(Int8GivenIntTensorFill, Int8GivenFillOp<int32_t>);

OPERATOR_SCHEMA(Int8Quantize)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferAs<TensorProto::UINT8>)
    .FillUsing(DescribeResult)
    .SetDoc("Rounds floats to 256 levels, of which q stands for scale * (q - zero_point).")
    .Input(0, "X", "A float tensor.")
    .Output(0, "Y", "Its levels, a quantized tensor of its shape.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8Dequantize)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferAs<TensorProto::FLOAT>)
    .SetDoc("The values of a quantized tensor: scale * (q - zero_point).")
    .Input(0, "qX", "A quantized tensor.")
    .Output(0, "Y", "Floats, of its shape.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8GivenTensorFill)
    .FillUsing(DescribeGiven)
    .TensorInferenceFunction(InferGiven<TensorProto::UINT8>)
    .SetDoc("A quantized tensor whose levels are an argument.")
    .Arg<std::string>("values", "A string whose bytes are the levels, in row-major order.", true)
    .Output(0, "Tensor", "The quantized tensor, of levels.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8GivenIntTensorFill)
    .FillUsing(DescribeGiven)
    .TensorInferenceFunction(InferGiven<TensorProto::INT32>)
    .SetDoc("A quantized tensor of int32, a bias, whose numbers are an argument.")
    .ArgList<int>("values", "The numbers, in row-major order.", true)
    .Output(0, "Tensor", "The quantized tensor, of int32.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(Int8Quantize);
SHOULD_NOT_DO_GRADIENT(Int8Dequantize);
NO_GRADIENT(Int8GivenTensorFill);
NO_GRADIENT(Int8GivenIntTensorFill);

}  // namespace
}  // namespace caffe2::int8
