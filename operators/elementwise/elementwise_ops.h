// Templates of operators that work element by element, and how plain functions of one or two
// numbers become such operators on the CPU.
//
// An operator is UnaryElementwiseOp or BinaryElementwiseOp over a kernel: a functor that handles
// whole arrays on one device, so that another device brings kernels and shares the rest. On the
// CPU a kernel is CpuUnary<F> or CpuBinary<F> over a functor F of single values.
#pragma once

#include <type_traits>

#include "caffe2/core/operator.h"
#include "operators/common/broadcast.h"
#include "operators/common/element_type.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

// The element type of the result for inputs of T: T itself, or always R.
struct SameType {
  template <typename T>
  using Of = T;
};
template <typename R>
struct FixedType {
  template <typename T>
  using Of = R;
};

// Y[i] = f(X[i]). Kernel: Kernel(const OperatorBase&), which reads the arguments, and
// operator()(n, const T* x, R* y, Context*), where x and y may be the same.
template <class Types, class Context, class Kernel, class Result = SameType>
class UnaryElementwiseOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  UnaryElementwiseOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), kernel_(*this) {}

  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    const T* x = X.data<T>();
    kernel_(X.numel(), x, Y->template mutable_data<typename Result::template Of<T>>(), &context_);
    return true;
  }

 private:
  Kernel kernel_;
};

// C[i] = f(A[i], B[i]) under the broadcast rules of BroadcastRule. Kernel: Kernel(const
// OperatorBase&) and operator()(plan, const T* a, const T* b, R* c, Context*), where c may be a or
// b if that operand has the shape of the result.
template <class Types, class Context, class Kernel, class Result = SameType>
class BinaryElementwiseOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BinaryElementwiseOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), rule_(ArgumentHelper(this->debug_def())), kernel_(*this) {}

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
    kernel_(plan, a, b, C->template mutable_data<typename Result::template Of<T>>(), &context_);
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
  Kernel kernel_;
};

// Throws unless dC has the elements that `plan` gives to C = f(A, B), and dA and dB can be written:
// the one that lies in place of dC has its size, and neither lies in place of an operand.
inline void CheckBinaryGradient(const BroadcastPlan& plan, const Tensor& dC, const Tensor& A,
                                const Tensor& B, const Tensor* dA, const Tensor* dB) {
  CAFFE_ENFORCE_EQ(dC.numel(), plan.numel, "the gradient's shape ", ShapeString(dC.sizes()),
                   " is not that of the result of ", ShapeString(A.sizes()), " and ",
                   ShapeString(B.sizes()));
  for (int i : {0, 1}) {
    const Tensor* gradient = i == 0 ? dA : dB;
    CAFFE_ENFORCE(gradient != &dC || (i == 0 ? A : B).numel() == dC.numel(), "output ", i,
                  " does not fit in place of the gradient");
    CAFFE_ENFORCE(gradient != &A && gradient != &B, "output ", i, " is in the place of an operand");
  }
}

// Y[i] = F(X[i]) on the host.
template <class F>
class CpuUnary {
 public:
  explicit CpuUnary(const OperatorBase& op) : f_(MakeFunctor<F>(op)) {}

  template <typename T, typename R>
  void operator()(int64_t n, const T* x, R* y, CPUContext*) const {
    ParallelFor(n, kElementwiseGrain, [f = f_, x, y](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = Narrow<R>(f(Widen(x[i])));
    });
  }

 private:
  F f_;
};

// One row of a plan: c[i] = f(a[i * a_stride], b[i * b_stride]) with strides 0 or 1.
template <class F, typename T, typename R>
inline void BinaryRow(const F& f, int64_t n, const T* a, int64_t a_stride, const T* b,
                      int64_t b_stride, R* c) {
  if (a_stride != 0 && b_stride != 0) {
    for (int64_t i = 0; i < n; ++i) c[i] = Narrow<R>(f(Widen(a[i]), Widen(b[i])));
  } else if (a_stride != 0) {
    const auto value = Widen(*b);
    for (int64_t i = 0; i < n; ++i) c[i] = Narrow<R>(f(Widen(a[i]), value));
  } else if (b_stride != 0) {
    const auto value = Widen(*a);
    for (int64_t i = 0; i < n; ++i) c[i] = Narrow<R>(f(value, Widen(b[i])));
  } else {
    const R value = Narrow<R>(f(Widen(*a), Widen(*b)));
    for (int64_t i = 0; i < n; ++i) c[i] = value;
  }
}

// C[i] = F(A[i], B[i]) on the host. The float rows of F go through F::FloatRow where F has one (a
// function compiled for several instruction sets).
template <class F>
class CpuBinary {
 public:
  explicit CpuBinary(const OperatorBase& op) : f_(MakeFunctor<F>(op)) {}

  template <typename T, typename R>
  void operator()(const BroadcastPlan& plan, const T* a, const T* b, R* c, CPUContext*) const {
    const int64_t a_stride = plan.a_inner_stride(), b_stride = plan.b_inner_stride();
    ParallelRows(plan, kElementwiseGrain,
                 [=, this](int64_t n, int64_t row, int64_t ia, int64_t ib) {
                   if constexpr (requires { F::FloatRow(n, a, a_stride, b, b_stride, c); }) {
                     F::FloatRow(n, a + ia, a_stride, b + ib, b_stride, c + row);
                   } else {
                     BinaryRow(f_, n, a + ia, a_stride, b + ib, b_stride, c + row);
                   }
                 });
  }

 private:
  F f_;
};

// Shape inference of a binary operator; the result has A's type unless one is given.
OpSchema::TensorInference InferBinary(TensorProto::DataType type = TensorProto::UNDEFINED);
// The parts of a binary operator's schema that all have in common: inputs, output, broadcast
// arguments.
void DescribeBinary(OpSchema& schema);

}  // namespace caffe2
