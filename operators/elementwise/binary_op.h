// Operators that apply a function of two numbers to pairs of elements, with broadcasting, and their
// gradients.
//
// <stem>_op.h holds the function as a functor for the host and for devices (host_device.h):
//
//   struct MulFunction {
//     static constexpr const char* kName = "Mul";
//     template <typename N>
//     CAFFE2_HOST_DEVICE_INLINE N operator()(N a, N b) const;          // c
//     template <typename N>
//     CAFFE2_HOST_DEVICE_INLINE N GradientA(N dc, N a, N b) const;     // what it adds to da
//     template <typename N>
//     CAFFE2_HOST_DEVICE_INLINE N GradientB(N dc, N a, N b) const;     // what it adds to db
//   };
//
// GradientA and GradientB may take dc alone. If a function lacks one of them, that gradient is dc.
//
// As with unary_op.h, <stem>_op.cc registers the operators for the CPU and <stem>_op_cuda.cc for
// CUDA devices (binary_op_cuda.h); binary_kernels.cu instantiates the kernels.
#pragma once

#include "operators/common/broadcast.h"
#include "operators/common/sum_to.h"
#include "operators/elementwise/derivative_functions.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

using BitTypes = TensorTypes<int32_t, int64_t, bool>;
using EqualityTypes =
    TensorTypes<float, int32_t, int64_t, double, float16, bfloat16, bool, uint8_t>;
using OrderTypes = TensorTypes<float, int32_t, int64_t, double, float16, bfloat16, uint8_t>;

// A function of two numbers, or its derivative, with a fixed first (WithA) or second (WithB)
// operand.
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
template <class F, typename R, typename A, typename B, typename... X>
void MapPairs(const F& f, int64_t n, R* y, const A* a, int64_t a_stride, const B* b,
              int64_t b_stride, const X*... x) {
  if (a_stride == b_stride) {
    host_device::MapRow(f, n, y, x..., a, b);
  } else if (b_stride == 0) {
    host_device::MapRow(WithB<F, ArithmeticType<B>>{f, host_device::Widen(*b)}, n, y, x..., a);
  } else {
    host_device::MapRow(WithA<F, ArithmeticType<A>>{f, host_device::Widen(*a)}, n, y, x..., b);
  }
}

// c[i] = f(a[..], b[..]) for the indices i of a plan. c may overwrite an operand that has its
// shape. binary_op_cuda.h has the version for CUDA devices.
template <class F, typename R, typename A, typename B>
void MapBroadcast(const F& f, const BroadcastPlan& plan, const A* a, const B* b, R* c,
                  CPUContext* /*context*/) {
  const int64_t a_stride = plan.a_inner_stride(), b_stride = plan.b_inner_stride();
  ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t ia, int64_t ib) {
    MapPairs(f, n, c + row, a + ia, a_stride, b + ib, b_stride);
  });
}

// For functions that take any second operand.
struct NoCheck {
  template <typename T, class Context>
  void operator()(int64_t /*n*/, const T* /*b*/, Context* /*context*/) const {}
};

// C[i] = F(A[i], B[i]) under the broadcast rules of BroadcastRule. C may be A or B if that operand
// has its shape and type. Check(n, b, context) throws (on a device: reports) if F cannot take
// one of the n elements of B.
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

// gradient[e] = the sum of `derivative` over the indices of a plan that read element e of operand
// D::kOperand, which has `count` elements. `a` and `b` are null if the derivative does not read
// them. The gradient may overwrite dc if the operand is not repeated (a_full or b_full).
// binary_op_cuda.h has the version for CUDA devices.
template <class D, typename T, typename A, typename B>
void SumDerivative(const D& derivative, const BroadcastPlan& plan, int64_t count, const T* dc,
                   const A* a, const B* b, T* gradient, CPUContext* context) {
  using Acc = ArithmeticType<T>;
  if (plan.numel == 0) {
    std::fill_n(gradient, count, Narrow<T>(Acc(0)));
    return;
  }
  const bool full = D::kOperand == 0 ? plan.a_full() : plan.b_full();
  BroadcastPlan reduction = plan;
  if (D::kOperand == 0) reduction.b_stride = plan.a_stride;
  int64_t stride = 1;
  for (int d = plan.dims - 1; d >= 0; --d) {
    reduction.a_stride[d] = stride;
    stride *= plan.size[d];
  }
  if constexpr (D::kIsIdentity) {
    if (!full) {
      SumTo(reduction, dc, count, gradient, context);
    } else if (gradient != dc) {
      ParallelFor(count, kElementwiseGrain, [=](int64_t begin, int64_t end) {
        std::copy(dc + begin, dc + end, gradient + begin);
      });
    }
  } else {
    const auto derive = [&](auto* to) {
      const int64_t a_stride = plan.a_inner_stride(), b_stride = plan.b_inner_stride();
      ParallelRows(plan, kElementwiseGrain, [&](int64_t n, int64_t row, int64_t ia, int64_t ib) {
        if constexpr (D::kReadsOperands) {
          MapPairs(derivative, n, to + row, a + ia, a_stride, b + ib, b_stride, dc + row);
        } else {
          host_device::MapRow(derivative, n, to + row, dc + row);
        }
      });
    };
    if (full) return derive(gradient);
    Tensor terms(CPU);
    terms.Resize(plan.numel);
    derive(terms.mutable_data<Acc>());
    WideOutput<T> sums;
    Reduce<SumReducer>(reduction, terms.data<Acc>(), count, sums.Row(count, gradient));
    sums.Store();
  }
}

// Inputs dC, A, B; outputs dA and dB in the shapes of A and B: the derivative, summed over the
// dimensions along which the operand was repeated. An output may overwrite dC if it has dC's size.
// If F has OfResult, a function of (c, b) with the same gradients, the inputs may be B, C, dC
// instead; A then had C's shape.
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
    using ByA = host_device::DerivativeA<G>;
    using ByB = host_device::DerivativeB<G>;
    constexpr bool kReadsOperands = ByA::kReadsOperands || ByB::kReadsOperands;
    const T* dc = dC.data<T>();
    const T* a = kReadsOperands ? A.data<T>() : nullptr;
    const T* b = kReadsOperands ? B.data<T>() : nullptr;
    // The output that overwrites dC goes last.
    const bool a_last = Output(0) == &dC;
    if (!a_last) Derive(ByA(), plan, A, dc, a, b);
    Derive(ByB(), plan, B, dc, a, b);
    if (a_last) Derive(ByA(), plan, A, dc, a, b);
    return true;
  }

  // `like` is the operand.
  template <class D, typename T>
  void Derive(const D& derivative, const BroadcastPlan& plan, const Tensor& like, const T* dc,
              const T* a, const T* b) {
    Tensor* gradient = Output(D::kOperand);
    gradient->ResizeLike(like);
    SumDerivative(derivative, plan, like.numel(), dc, a, b, gradient->template mutable_data<T>(),
                  &context_);
  }

  // Throws unless dC has as many elements as C under `plan`, an output that overwrites dC has dC's
  // size, and no output overwrites an operand.
  void Check(const BroadcastPlan& plan, const Tensor& dC, const Tensor& A, const Tensor& B) {
    CAFFE_ENFORCE(dC.numel() == plan.numel, "dC must have ", plan.numel,
                  " elements for operands of shape ", ShapeString(A.sizes()), " and ",
                  ShapeString(B.sizes()), ", found shape ", ShapeString(dC.sizes()));
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
