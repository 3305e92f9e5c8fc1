// Operators that apply a function of two numbers to pairs of elements, with broadcasting, and their
// gradients.
//
// <stem>_op.h holds the function as a functor for the host and for devices (host_device.h):
//
//   struct MulFunction {
//     static constexpr const char* kName = "Mul";
//     template <typename N>
//     CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const;             // c
//     template <typename N>
//     CAFFE2_HOST_DEVICE_INLINE N GradientA(N dc, N a, N b) const;        // what it adds to da
//     template <typename N>
//     CAFFE2_HOST_DEVICE_INLINE N GradientB(N dc, N a, N b) const;        // what it adds to db
//   };
//
// GradientA and GradientB may take dc alone. As with unary_op.h, <stem>_op.cc registers the
// operators for the CPU and <stem>_op_cuda.cc for CUDA devices (binary_op_cuda.h);
// binary_kernels.cu instantiates the kernels.
#pragma once

#include "operators/common/broadcast.h"
#include "operators/elementwise/derivative_functions.h"
#include "operators/elementwise/unary_op.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {

using BitTypes = TensorTypes<int32_t, int64_t, bool>;
using EqualityTypes =
    TensorTypes<float, int32_t, int64_t, double, float16, bfloat16, bool, uint8_t>;
using OrderTypes = TensorTypes<float, int32_t, int64_t, double, float16, bfloat16, uint8_t>;

// Functions of two numbers, and their derivatives, with one operand given.
template <class F, typename N>
struct WithA {
  CAFFE2_INLINE auto operator()(N b) const { return f(a, b); }
  CAFFE2_INLINE auto operator()(N dc, N b) const { return f(dc, a, b); }
  F f;
  N a;
};
template <class F, typename N>
struct WithB {
  CAFFE2_INLINE auto operator()(N a) const { return f(a, b); }
  CAFFE2_INLINE auto operator()(N dc, N a) const { return f(dc, a, b); }
  F f;
  N b;
};

// y[i] = f(x..., a[i * a_stride], b[i * b_stride]) for i in [0, n), with strides 0 or 1, of which
// one is 1 unless n is 1.
template <class F, typename R, typename T, typename... X>
void MapPairs(const F& f, int64_t n, R* y, const T* a, int64_t a_stride, const T* b,
              int64_t b_stride, const X*... x) {
  using N = decltype(host_device::Widen(T()));
  if (a_stride == b_stride) {
    host_device::MapRow(f, n, y, x..., a, b);
  } else if (b_stride == 0) {
    host_device::MapRow(WithB<F, N>{f, host_device::Widen(*b)}, n, y, x..., a);
  } else {
    host_device::MapRow(WithA<F, N>{f, host_device::Widen(*a)}, n, y, x..., b);
  }
}

// c[i] = f(a[..], b[..]) for the indices i of a plan. c may be an operand with its shape.
// binary_op_cuda.h has it for CUDA devices.
template <class F, typename R, typename T>
void MapBroadcast(const F& f, const BroadcastPlan& plan, const T* a, const T* b, R* c,
                  CPUContext* /*context*/) {
  const int64_t a_stride = plan.a_inner_stride(), b_stride = plan.b_inner_stride();
  ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t ia, int64_t ib) {
    MapPairs(f, n, c + row, a + ia, a_stride, b + ib, b_stride);
  });
}

// Operands are fit for every function but a few.
struct NoCheck {
  template <typename T, class Context>
  void operator()(int64_t /*n*/, const T* /*b*/, Context* /*context*/) const {}
};

// C[i] = F(A[i], B[i]) under the broadcast rules of BroadcastRule. C may be A or B if that operand
// has its shape and type. Check(n, b, context) throws, or reports on a device, what F cannot take
// as its second operand.
template <class Context, class F, class Types, class Result = SameType, class Check = NoCheck>
class BinaryOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BinaryOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), rule_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &A = Input(0), &B = Input(1);
    const T *a = A.data<T>(), *b = B.data<T>();
    const BroadcastPlan plan = rule_.Plan(A.sizes(), B.sizes());
    Tensor* C = Output(0);
    CheckInPlace(C, plan);
    if (A.sizes() == B.sizes() || rule_.legacy) {
      C->ResizeLike(A);
    } else if (C != &A && C != &B) {
      C->Resize(rule_.OutputShape(A.sizes(), B.sizes()));
    }
    if (plan.numel > 0) Check()(B.numel(), b, &context_);
    MapBroadcast(F(), plan, a, b, C->template mutable_data<typename Result::template Of<T>>(),
                 &context_);
    return true;
  }

 private:
  void CheckInPlace(const Tensor* C, const BroadcastPlan& plan) const {
    CAFFE_ENFORCE(C != &Input(0) || C->numel() == plan.numel,
                  "the result does not fit in place of the first input of shape ",
                  ShapeString(Input(0).sizes()));
    CAFFE_ENFORCE(C != &Input(1) || C->sizes() == rule_.OutputShape(Input(0).sizes(), C->sizes()),
                  "the result does not fit in place of the second input of shape ",
                  ShapeString(Input(1).sizes()));
  }

  BroadcastRule rule_;
};

// gradient[e] = the sum of `derivative` over the indices of a plan for which operand number
// D::kOperand has the element e, of which there are `count`. `a` and `b` are null where the
// derivative does not read them. The gradient may be dc if the operand has every index once.
// binary_op_cuda.h has it for CUDA devices.
template <class D, typename T>
void SumDerivative(const D& derivative, const BroadcastPlan& plan, int64_t count, const T* dc,
                   const T* a, const T* b, T* gradient, CPUContext* context) {
  using Acc = ArithmeticType<T>;
  if (plan.numel == 0) {
    std::fill_n(gradient, count, Narrow<T>(Acc(0)));
    return;
  }
  const auto derive = [&](auto* to) {
    if constexpr (!D::kReadsOperands) {
      ParallelFor(plan.numel, kElementwiseGrain, [&](int64_t begin, int64_t end) {
        host_device::MapRow(derivative, end - begin, to + begin, dc + begin);
      });
    } else {
      const int64_t a_stride = plan.a_inner_stride(), b_stride = plan.b_inner_stride();
      ParallelRows(plan, kElementwiseGrain, [&](int64_t n, int64_t row, int64_t ia, int64_t ib) {
        MapPairs(derivative, n, to + row, a + ia, a_stride, b + ib, b_stride, dc + row);
      });
    }
  };
  if (D::kOperand == 0 ? plan.a_full() : plan.b_full()) return derive(gradient);
  Tensor scratch(CPU);
  scratch.Resize(plan.numel + count);
  Acc* summands = scratch.template mutable_data<Acc>();
  Acc* sums = summands + plan.numel;
  derive(summands);
  BroadcastPlan reduction = plan;
  if (D::kOperand == 0) reduction.b_stride = plan.a_stride;
  int64_t stride = 1;
  for (int d = plan.dims - 1; d >= 0; --d) {
    reduction.a_stride[d] = stride;
    stride *= plan.size[d];
  }
  Reduce<SumReducer>(reduction, summands, count, sums);
  for (int64_t i = 0; i < count; ++i) gradient[i] = Narrow<T>(sums[i]);
}

// Inputs dC, A, B; outputs dA and dB in the shapes of A and B: the derivative where the operand has
// the shape of C, its sum over the repeated dimensions otherwise. An output may take dC's place if
// it has dC's shape. If F has OfResult, a function of (c, b) with the same gradients, there may be
// three inputs B, C and dC in place of four; A had C's shape then.
template <class Context, class F>
class BinaryGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BinaryGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), rule_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    if constexpr (requires { typename F::OfResult; }) {
      if (InputSize() == 3) return Run<typename F::OfResult, T>(Input(2), Input(1), Input(0));
    }
    return Run<F, T>(Input(0), Input(1), Input(2));
  }

 private:
  template <class G, typename T>
  bool Run(const Tensor& dC, const Tensor& A, const Tensor& B) {
    const BroadcastPlan plan = rule_.Plan(A.sizes(), B.sizes());
    Check(plan, dC, A, B);
    // The output that overwrites dC goes last.
    const bool a_last = Output(0) == &dC;
    if (!a_last) Derive<host_device::DerivativeA<G>, T>(plan, dC, A, B);
    Derive<host_device::DerivativeB<G>, T>(plan, dC, A, B);
    if (a_last) Derive<host_device::DerivativeA<G>, T>(plan, dC, A, B);
    return true;
  }

  template <class D, typename T>
  void Derive(const BroadcastPlan& plan, const Tensor& dC, const Tensor& A, const Tensor& B) {
    const T* a = D::kReadsOperands ? A.data<T>() : nullptr;
    const T* b = D::kReadsOperands ? B.data<T>() : nullptr;
    const T* dc = dC.data<T>();
    Tensor* gradient = Output(D::kOperand);
    gradient->ResizeLike(D::kOperand == 0 ? A : B);
    SumDerivative(D(), plan, gradient->numel(), dc, a, b, gradient->template mutable_data<T>(),
                  &context_);
  }

  // Throws unless dC has the elements that `plan` gives to C, and dA and dB can be written: the one
  // that lies in place of dC has its size, and neither lies in place of an operand.
  void Check(const BroadcastPlan& plan, const Tensor& dC, const Tensor& A, const Tensor& B) {
    CAFFE_ENFORCE_EQ(dC.numel(), plan.numel, "the gradient's shape ", ShapeString(dC.sizes()),
                     " is not that of the result of ", ShapeString(A.sizes()), " and ",
                     ShapeString(B.sizes()));
    for (int i : {0, 1}) {
      const Tensor* gradient = Output(i);
      CAFFE_ENFORCE(gradient != &dC || (i == 0 ? A : B).numel() == dC.numel(), "output ", i,
                    " does not fit in place of the gradient");
      CAFFE_ENFORCE(gradient != &A && gradient != &B, "output ", i,
                    " is in the place of an operand");
    }
  }

  BroadcastRule rule_;
};

// Fill the schema of an operator: inputs, output, broadcast arguments; and of its gradient
// operator.
void BinarySchema(OpSchema& schema);
void BinaryGradientSchema(OpSchema& schema);
// Shape inference of a binary operator; the result has A's type unless one is given.
OpSchema::TensorInference InferBinary(TensorProto::DataType type = TensorProto::UNDEFINED);

}  // namespace caffe2
