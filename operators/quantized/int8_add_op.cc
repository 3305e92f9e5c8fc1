// Sums of quantized tensors, with or without a Relu after the sum.
#include <array>

#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"
#include "operators/quantized/int8_op.h"

namespace caffe2::int8 {
namespace {

template <Activation activation>
class Int8AddOp final : public Int8Operator {
 public:
  Int8AddOp(const OperatorDef& def, Workspace* ws)
      : Int8Operator(def, ws), result_(Quantization::Read(*this)) {}
  bool RunOnDevice() override {
    // The value of each level of each term.
    std::vector<std::array<float, 256>> tables(InputSize());
    std::vector<const uint8_t*> terms(InputSize());
    const std::vector<int64_t> dims = Levels(0).t.sizes();
    for (int k = 0; k < InputSize(); ++k) {
      const Int8TensorCPU& X = Levels(k);
      CAFFE_ENFORCE(X.t.sizes() == dims,
                    "all inputs must have the same shape, because there is no broadcasting: their "
                    "shapes are ",
                    ShapeString(dims), " and ", ShapeString(X.t.sizes()));
      const Quantization from = Quantization::Of(X);
      for (int q = 0; q < 256; ++q) tables[k][q] = from.Dequantize(static_cast<uint8_t>(q));
      terms[k] = X.t.data<uint8_t>();
    }
    Tensor* Y = SetResult(result_);
    Y->Resize(dims);
    auto* y = Y->mutable_data<uint8_t>();
    const Requantizer requantize(1, result_, activation);
    ParallelFor(Y->numel(), kElementwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (size_t k = 0; k < terms.size(); ++k) sum += tables[k][terms[k][i]];
        y[i] = requantize(sum);
      }
    });
    return true;
  }

 private:
  const Quantization result_;
};

void DescribeTerm(OpSchema& schema) {
  schema.NumOutputs(1)
      .AllowInplace([](int, int output) { return output == 0; })
      .IdenticalTypeAndShapeOfInput(0)
      .FillUsing(DescribeResult)
      .Arg("order", "Not read: the axes do not matter.")
      .Input(0, "A", "The first term, a quantized tensor.")
      .Output(0, "C", "The sum, a quantized tensor of the same shape.");
}
void DescribeAdd(OpSchema& schema) {
  schema.NumInputs(2).FillUsing(DescribeTerm).Input(1, "B", "The second term, of A's shape.");
}
void DescribeSum(OpSchema& schema) {
  schema.NumInputs(1, std::numeric_limits<int>::max())
      .FillUsing(DescribeTerm)
      .Input(1, "B", "Optional: further terms of A's shape.");
}

REGISTER_CPU_OPERATOR(Int8Add, Int8AddOp<Activation::kNone>);
REGISTER_CPU_OPERATOR(Int8AddRelu, Int8AddOp<Activation::kRelu>);
REGISTER_CPU_OPERATOR(Int8Sum, Int8AddOp<Activation::kNone>);
REGISTER_CPU_OPERATOR(Int8SumRelu, Int8AddOp<Activation::kRelu>);

OPERATOR_SCHEMA(Int8Add)
    .FillUsing(DescribeAdd)
    .SetDoc("The sum of two quantized tensors.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8AddRelu)
    .FillUsing(DescribeAdd)
    .SetDoc("The rectified sum of two quantized tensors.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8Sum)
    .FillUsing(DescribeSum)
    .SetDoc("The sum of quantized tensors.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8SumRelu)
    .FillUsing(DescribeSum)
    .SetDoc("The rectified sum of quantized tensors.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(Int8Add);
SHOULD_NOT_DO_GRADIENT(Int8AddRelu);
SHOULD_NOT_DO_GRADIENT(Int8Sum);
SHOULD_NOT_DO_GRADIENT(Int8SumRelu);

}  // namespace
}  // namespace caffe2::int8
