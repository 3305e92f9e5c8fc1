// What activation operators share: Y = f(X) element by element, and a gradient that needs dY and
// one saved tensor (Y where f can be undone through it, so that Y may overwrite X; else X).
#pragma once

#include "caffe2/core/operator.h"
#include "caffe2/utils/parallel.h"
#include "operators/common/wide_rows.h"

namespace caffe2 {

// Function is made from the operator (it reads its arguments), and has a list `Types` of element
// types and, for each T of them,
//   void operator()(int64_t n, const T* x, T* y, Context* context) const;
// where x and y may be the same memory.
template <class Context, class Function>
class ActivationOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ActivationOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), function_(*this) {}

  bool RunOnDevice() override { return Function::Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& x = Input(0);
    Tensor* y = Output(0);
    const T* x_data = x.data<T>();
    if (y != &x) y->ResizeLike(x);
    function_(x.numel(), x_data, y->mutable_data<T>(), &context_);
    return true;
  }

 private:
  Function function_;
};

// Function as above, with
//   void operator()(int64_t n, const T* saved, const T* dy, T* dx, Context* context) const;
// where dx may be the memory of dy or of the saved tensor.
template <class Context, class Function>
class ActivationGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ActivationGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), function_(*this) {}

  bool RunOnDevice() override { return Function::Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &saved = Input(0), &dy = Input(1);
    CAFFE_ENFORCE_EQ(saved.numel(), dy.numel(), "gradient ", ShapeString(dy.sizes()), " for ",
                     ShapeString(saved.sizes()));
    const T *saved_data = saved.data<T>(), *dy_data = dy.data<T>();
    Tensor* dx = Output(0);
    if (dx != &dy && dx != &saved) dx->ResizeLike(saved);
    function_(dy.numel(), saved_data, dy_data, dx->mutable_data<T>(), &context_);
    return true;
  }

 private:
  Function function_;
};

// The two operators of an activation on the host, for float and bfloat16. Kernel is made from the
// operator, and has
//   void Forward(int64_t n, const float* x, float* y) const;
//   void Backward(int64_t n, const float* saved, const float* dy, float* dx) const;
// which are called for parts of the tensor, in several threads; y may be x, and dx saved or dy.
constexpr int64_t kActivationGrain = 1 << 13;  // elements per thread

template <class Kernel>
struct CpuForward {
  using Types = TensorTypes<float, bfloat16>;
  explicit CpuForward(const OperatorBase& op) : kernel(op) {}
  template <typename T>
  void operator()(int64_t n, const T* x, T* y, CPUContext*) const {
    ParallelFor(n, kActivationGrain, [&](int64_t begin, int64_t end) {
      WideInput<T> wide_x;
      WideOutput<T> wide_y;
      for (int64_t i = begin; i < end; i += kWideBlock) {
        const int64_t size = std::min(kWideBlock, end - i);
        kernel.Forward(size, wide_x.Row(size, x + i), wide_y.Row(size, y + i));
        wide_y.Store();
      }
    });
  }
  Kernel kernel;
};

template <class Kernel>
struct CpuBackward {
  using Types = TensorTypes<float, bfloat16>;
  explicit CpuBackward(const OperatorBase& op) : kernel(op) {}
  template <typename T>
  void operator()(int64_t n, const T* saved, const T* dy, T* dx, CPUContext*) const {
    ParallelFor(n, kActivationGrain, [&](int64_t begin, int64_t end) {
      WideInput<T> wide_saved, wide_dy;
      WideOutput<T> wide_dx;
      for (int64_t i = begin; i < end; i += kWideBlock) {
        const int64_t size = std::min(kWideBlock, end - i);
        kernel.Backward(size, wide_saved.Row(size, saved + i), wide_dy.Row(size, dy + i),
                        wide_dx.Row(size, dx + i));
        wide_dx.Store();
      }
    });
  }
  Kernel kernel;
};

template <class Kernel>
using CpuActivationOp = ActivationOp<CPUContext, CpuForward<Kernel>>;
template <class Kernel>
using CpuActivationGradientOp = ActivationGradientOp<CPUContext, CpuBackward<Kernel>>;

// Fills the schema of a forward operator.
void ActivationSchema(OpSchema& schema);
// Fills the schema of a gradient operator that saves the output, or the input, of the forward one.
void ActivationGradientSchemaOfOutput(OpSchema& schema);
void ActivationGradientSchemaOfInput(OpSchema& schema);

// Makes "<Type>Gradient" with inputs (Y, dY).
class GetActivationGradientOfOutput final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override;
};
// Makes "<Type>Gradient" with inputs (X, dY).
class GetActivationGradientOfInput final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override;
};

}  // namespace caffe2
