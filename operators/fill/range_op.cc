// Range, RangeFill, LengthsRangeFill: ascending or descending numbers.
#include <cmath>
#include <type_traits>

#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"
#include "operators/fill/filler_op.h"

namespace caffe2 {
namespace {

// Inputs: stop; or start, stop; or start, stop, step.
template <class Context>
class RangeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(RangeOp);
  bool RunOnDevice() override {
    return TensorTypes<int32_t, int64_t, float, double>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const T start = InputSize() == 1 ? T(0) : Value<T>(0);
    const T stop = Value<T>(InputSize() == 1 ? 0 : 1);
    const T step = InputSize() == 3 ? Value<T>(2) : T(1);
    CAFFE_ENFORCE(step != T(0), "Step size cannot be 0");
    const double exact = std::ceil((static_cast<double>(stop) - static_cast<double>(start)) / step);
    CAFFE_ENFORCE(exact <= 0x1p62, "the range from ", start, " to ", stop, " by ", step,
                  " is too long");
    const int64_t n = exact > 0 ? static_cast<int64_t>(exact) : 0;
    Tensor* Y = Output(0);
    Y->Resize(n);
    T* y = Y->template mutable_data<T>();
    // A range of int32 may span more than int32 can hold.
    using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    for (int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<T>(static_cast<Wide>(start) + static_cast<Wide>(i) * step);
    }
    return true;
  }

 private:
  template <typename T>
  T Value(int i) const {
    CAFFE_ENFORCE(Input(i).numel() == 1, "input ", i, " must have one element, found shape ",
                  ShapeString(Input(i).sizes()));
    return *Input(i).template data<T>();
  }
};

template <class Context>
class RangeFillOp final : public FillerOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using FillerOp<Context>::FillerOp;

 protected:
  bool Fill(Tensor* output) override {
    float* y = output->template mutable_data<float>();
    for (int64_t i = 0; i < output->numel(); ++i) y[i] = static_cast<float>(i);
    return true;
  }
};

template <class Context>
class LengthsRangeFillOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(LengthsRangeFillOp);
  bool RunOnDevice() override {
    const Tensor& lengths = Input(0);
    CAFFE_ENFORCE(lengths.dim() == 1, "the lengths must be one-dimensional, found shape ",
                  ShapeString(lengths.sizes()));
    const int32_t* length = lengths.data<int32_t>();
    int64_t total = 0;
    for (int64_t i = 0; i < lengths.numel(); ++i) {
      CAFFE_ENFORCE(length[i] >= 0, "a length must not be negative, found ", length[i],
                    " at position ", i);
      total += length[i];
    }
    Tensor* Y = Output(0);
    Y->Resize(total);
    int32_t* y = Y->template mutable_data<int32_t>();
    for (int64_t i = 0; i < lengths.numel(); ++i) {
      for (int32_t k = 0; k < length[i]; ++k) *y++ = k;
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Range, RangeOp<CPUContext>);
REGISTER_CPU_OPERATOR(RangeFill, RangeFillOp<CPUContext>);
REGISTER_CPU_OPERATOR(LengthsRangeFill, LengthsRangeFillOp<CPUContext>);

OPERATOR_SCHEMA(Range)
    .NumInputs(1, 3)
    .NumOutputs(1)
    .SetDoc(
        "The numbers start, start + step, ... before stop, as Python's range: one input is "
        "stop, two are start and stop. The length is known at run time only.")
    .Input(0, "start", "int32, int64, float or double, one element. Default 0.")
    .Input(1, "stop", "The bound, not included; one element.")
    .Input(2, "step", "May be negative, not 0; one element. Default 1.")
    .Output(0, "range", "One-dimensional, of the inputs' type.");
OPERATOR_SCHEMA(RangeFill)
    .FillUsing(DescribeFiller)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT))
    .SetDoc("Fills the output with 0, 1, 2, ... as floats, in row-major order.")
    .CpuOnly(cpu_only::kLengths);
OPERATOR_SCHEMA(LengthsRangeFill)
    .NumInputs(1)
    .NumOutputs(1)
    .SetDoc(
        "For each length n the numbers 0 to n - 1, one after the other: [2, 3] gives "
        "[0, 1, 0, 1, 2]. Their number is known at run time only.")
    .Input(0, "lengths", "int32, one-dimensional.")
    .Output(0, "range_sequence", "int32, one-dimensional; as long as the sum of the lengths.")
    .CpuOnly(cpu_only::kLengths);
SHOULD_NOT_DO_GRADIENT(Range);
NO_GRADIENT(RangeFill);
NO_GRADIENT(LengthsRangeFill);

}  // namespace caffe2
