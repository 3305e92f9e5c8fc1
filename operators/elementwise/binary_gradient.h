// The gradient of C = f(A, B) with broadcasting, from the derivatives of f.
#pragma once

#include <algorithm>

#include "caffe2/utils/simd.h"
#include "operators/elementwise/elementwise_ops.h"
#include "operators/reduce/reduction.h"

namespace caffe2 {

// Inputs dC, A, B; outputs dA and dB in the shapes of A and B: the derivative where the operand
// has the shape of C, its sum over the repeated dimensions otherwise. An output may take dC's
// place if it has dC's shape. Derivative has A(dc, a, b) and B(dc, a, b), which give the
// summands, and kReadsOperands, which is false if the values of A and B do not matter. If it has
// OfResult, a derivative by (dc, c, b), there may be three inputs B, C and dC in place of four; A
// had C's shape then.
template <class Context, class Derivative>
class BinaryGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  BinaryGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), rule_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    if constexpr (requires { typename Derivative::OfResult; }) {
      if (InputSize() == 3)
        return Run<typename Derivative::OfResult, T>(Input(2), Input(1), Input(0));
    }
    return Run<Derivative, T>(Input(0), Input(1), Input(2));
  }

 private:
  template <class D, typename T>
  bool Run(const Tensor& dC, const Tensor& A, const Tensor& B) {
    const BroadcastPlan plan = rule_.Plan(A.sizes(), B.sizes());
    CheckBinaryGradient(plan, dC, A, B, Output(0), Output(1));
    const T* dc = dC.data<T>();
    const T* a = D::kReadsOperands ? A.data<T>() : nullptr;
    const T* b = D::kReadsOperands ? B.data<T>() : nullptr;
    // The output that overwrites dC goes last.
    if (Output(0) == &dC) {
      GradientOf<D, 1, T>(plan, B, dc, a, b);
      GradientOf<D, 0, T>(plan, A, dc, a, b);
    } else {
      GradientOf<D, 0, T>(plan, A, dc, a, b);
      GradientOf<D, 1, T>(plan, B, dc, a, b);
    }
    return true;
  }

  template <class D, int operand, typename T, typename R>
  CAFFE2_SIMD_CLONES static void Row(int64_t n, const T* dc, const T* a, int64_t a_stride,
                                     const T* b, int64_t b_stride, R* out) {
    for (int64_t i = 0; i < n; ++i) {
      const auto g = Widen(dc[i]);
      auto x = g, y = g;
      if constexpr (D::kReadsOperands) {
        x = Widen(a[i * a_stride]);
        y = Widen(b[i * b_stride]);
      }
      if constexpr (operand == 0) {
        out[i] = Narrow<R>(D::A(g, x, y));
      } else {
        out[i] = Narrow<R>(D::B(g, x, y));
      }
    }
  }

  // The derivative by one operand at every index of C.
  template <class D, int operand, typename T, typename R>
  static void Summands(const BroadcastPlan& plan, const T* dc, const T* a, const T* b, R* out) {
    const int64_t a_stride = plan.a_inner_stride(), b_stride = plan.b_inner_stride();
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t ia, int64_t ib) {
      Row<D, operand>(n, dc + row, a + ia, a_stride, b + ib, b_stride, out + row);
    });
  }

  // `like`: the operand.
  template <class D, int operand, typename T>
  void GradientOf(const BroadcastPlan& plan, const Tensor& like, const T* dc, const T* a,
                  const T* b) {
    using Acc = ArithmeticType<T>;
    Tensor* gradient = Output(operand);
    gradient->ResizeLike(like);
    if (plan.numel == 0) {
      std::fill_n(gradient->template mutable_data<T>(), like.numel(), Narrow<T>(Acc(0)));
      return;
    }
    if (operand == 0 ? plan.a_full() : plan.b_full()) {
      Summands<D, operand>(plan, dc, a, b, gradient->template mutable_data<T>());
      return;
    }
    summands_.Resize(plan.numel);
    Acc* summands = summands_.template mutable_data<Acc>();
    Summands<D, operand>(plan, dc, a, b, summands);
    BroadcastPlan reduction = plan;
    if (operand == 0) reduction.b_stride = plan.a_stride;
    int64_t stride = 1;
    for (int d = plan.dims - 1; d >= 0; --d) {
      reduction.a_stride[d] = stride;
      stride *= plan.size[d];
    }
    sums_.Resize(like.numel());
    Acc* sums = sums_.template mutable_data<Acc>();
    Reduce<SumReducer>(reduction, summands, like.numel(), sums);
    T* out = gradient->template mutable_data<T>();
    for (int64_t i = 0; i < like.numel(); ++i) out[i] = Narrow<T>(sums[i]);
  }

  BroadcastRule rule_;
  Tensor summands_{CPU}, sums_{CPU};
};

// The schema parts that binary gradients have in common.
void DescribeBinaryGradient(OpSchema& schema);

}  // namespace caffe2
