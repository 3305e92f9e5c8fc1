// Int8Relu, Int8LeakyRelu, Int8Sigmoid, Int8Softmax. All but softmax look up a table of 256 levels.
#include <array>

#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"
#include "operators/common/host_device_math.h"
#include "operators/quantized/int8_op.h"

namespace caffe2::int8 {
namespace {

// Results in [0, 1] have these levels, as in Caffe2.
constexpr Quantization kUnitRange{1.f / 256, 0};

// Throws EnforceNotMet if the definition gives another scale or zero point.
Quantization ReadUnitRange(const OperatorBase& op) {
  const Quantization y = Quantization::Read(op, kUnitRange);
  CAFFE_ENFORCE(y == kUnitRange, op.type(), " writes scale 1 / 256 and zero point 0 only, not ",
                y.scale, " and ", int{y.zero_point});
  return y;
}

// y[i] = the level of Function(the operator)(the value of x[i]).
template <class Function>
class Int8TableOp final : public Int8Operator {
 public:
  Int8TableOp(const OperatorDef& def, Workspace* ws) : Int8Operator(def, ws), function_(*this) {}
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    const Quantization from = Quantization::Of(X);
    const Quantization to = Function::kKeeps ? Kept(X) : ReadUnitRange(*this);
    std::array<uint8_t, 256> table;
    for (int q = 0; q < 256; ++q) table[q] = function_(q, from, to);
    const auto* x = X.t.data<uint8_t>();
    Tensor* Y = SetResult(to);
    Y->ResizeLike(X.t);
    auto* y = Y->mutable_data<uint8_t>();
    ParallelFor(Y->numel(), kElementwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
    });
    return true;
  }

 private:
  const Function function_;
};

struct ReluFunction {
  static constexpr bool kKeeps = true;
  explicit ReluFunction(const OperatorBase&) {}
  uint8_t operator()(int q, const Quantization& from, const Quantization&) const {
    return static_cast<uint8_t>(std::max<int>(q, from.zero_point));
  }
};

struct LeakyReluFunction {
  static constexpr bool kKeeps = true;
  explicit LeakyReluFunction(const OperatorBase& op)
      : alpha(op.GetSingleArgument<float>("alpha", 0.01f)) {
    CAFFE_ENFORCE(alpha > 0 && alpha < 1,
                  "argument alpha must be more than 0 and less than 1, found ", alpha);
  }
  uint8_t operator()(int q, const Quantization& from, const Quantization&) const {
    const int steps = q - from.zero_point;
    return steps < 0 ? ToLevel(alpha * static_cast<float>(steps), from.zero_point)
                     : static_cast<uint8_t>(q);
  }
  const float alpha;
};

struct SigmoidFunction {
  static constexpr bool kKeeps = false;
  explicit SigmoidFunction(const OperatorBase&) {}
  uint8_t operator()(int q, const Quantization& from, const Quantization& to) const {
    return to.Quantize(host_device::Sigmoid(from.Dequantize(static_cast<uint8_t>(q))));
  }
};

// Rows are along axis 0; all other axes are columns.
class Int8SoftmaxOp final : public Int8Operator {
 public:
  using Int8Operator::Int8Operator;
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    const Quantization from = Quantization::Of(X), to = ReadUnitRange(*this);
    CAFFE_ENFORCE(X.t.dim() >= 1, "X must have at least one axis, found a scalar");
    const int64_t rows = X.t.size(0), width = X.t.size_from_dim(1);
    // exp(scale * (q - max)), by max - q.
    std::array<float, 256> powers;
    for (int d = 0; d < 256; ++d) powers[d] = std::exp(-from.scale * static_cast<float>(d));
    const auto* x = X.t.data<uint8_t>();
    Tensor* Y = SetResult(to);
    Y->ResizeLike(X.t);
    auto* y = Y->mutable_data<uint8_t>();
    for (int64_t r = 0; width > 0 && r < rows; ++r, x += width, y += width) {
      const uint8_t max = *std::max_element(x, x + width);
      float sum = 0;
      for (int64_t j = 0; j < width; ++j) sum += powers[max - x[j]];
      for (int64_t j = 0; j < width; ++j) y[j] = to.Quantize(powers[max - x[j]] / sum);
    }
    return true;
  }
};

void DescribeActivation(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .IdenticalTypeAndShape()
      .Input(0, "X", "A quantized tensor.")
      .Output(0, "Y", "A quantized tensor of its shape.");
}
void DescribeUnitRange(OpSchema& schema) {
  schema.FillUsing(DescribeActivation)
      .Arg<float>("Y_scale", "1 / 256, which is the only scale of the result.")
      .Arg<int>("Y_zero_point", "0, which is the only zero point of the result.");
}

REGISTER_CPU_OPERATOR(Int8Relu, Int8TableOp<ReluFunction>);
REGISTER_CPU_OPERATOR(Int8LeakyRelu, Int8TableOp<LeakyReluFunction>);
REGISTER_CPU_OPERATOR(Int8Sigmoid, Int8TableOp<SigmoidFunction>);
REGISTER_CPU_OPERATOR(Int8Softmax, Int8SoftmaxOp);

OPERATOR_SCHEMA(Int8Relu)
    .FillUsing(DescribeActivation)
    .FillUsing(DescribeKept)
    .Arg("order", "Not read: the axes do not matter.")
    .SetDoc("Relu of a quantized tensor: levels below the zero point become the zero point.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8LeakyRelu)
    .FillUsing(DescribeActivation)
    .FillUsing(DescribeKept)
    .Arg<float>("alpha", "(in (0, 1), default 0.01) The slope for negative X.")
    .SetDoc("LeakyRelu of a quantized tensor: alpha X where X is negative.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8Sigmoid)
    .FillUsing(DescribeUnitRange)
    .SetDoc("Sigmoid of a quantized tensor.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8Softmax)
    .FillUsing(DescribeUnitRange)
    .Arg("order", "Not read: softmax runs over all axes but the first.")
    .SetDoc("Softmax of a quantized tensor, over all axes but the first.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(Int8Relu);
SHOULD_NOT_DO_GRADIENT(Int8LeakyRelu);
SHOULD_NOT_DO_GRADIENT(Int8Sigmoid);
SHOULD_NOT_DO_GRADIENT(Int8Softmax);

}  // namespace
}  // namespace caffe2::int8
