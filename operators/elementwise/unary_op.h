// Operators that apply a function of numbers to each element, and their gradients.
//
// <stem>_op.h holds the function as a functor for the host and for devices (portable.h):
//
//   struct EluFunction {
//     static constexpr const char* kName = "Elu";
//     explicit EluFunction(const OperatorBase& op);  // reads the arguments; absent without them
//     CAFFE2_PORTABLE_INLINE float operator()(float x) const;          // y
//     CAFFE2_PORTABLE_INLINE float Gradient(float y, float dy) const;  // dx
//     float alpha;
//   };
//
// Gradient takes the inputs of the gradient operator, of which dY is the last. <stem>_op.cc
// registers the operators for the CPU with schema and gradient maker, <stem>_op_cuda.cc registers
// them for CUDA devices; the .cu file of the family instantiates the kernels.
#pragma once

#include "operators/common/element_type.h"
#include "operators/common/portable_op.h"

namespace caffe2 {

// F, made from the operator if it takes arguments.
template <class F>
F MakeFunctor(const OperatorBase& op) {
  if constexpr (std::is_constructible_v<F, const OperatorBase&>) {
    return F(op);
  } else {
    return F();
  }
}

// Calls body(f), or, where an argument chooses between functions, body of the one that F::Choose
// passes on: a choice within the loop would keep it from being vectorised.
template <class F, class Body>
void WithFunction(const F& f, const Body& body) {
  if constexpr (requires { f.Choose(body); }) {
    f.Choose(body);
  } else {
    body(f);
  }
}

// Y = F(X), element by element; Y may be X.
template <class Context, class F, class Types = RealTypes>
class UnaryOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  UnaryOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), f_(MakeFunctor<F>(*this)) {}

  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    T* y = Y->template mutable_data<T>();
    Context* context = &context_;
    WithFunction(f_, [&](const auto& f) { MapElements(f, X.numel(), context, y, x); });
    return true;
  }

 private:
  const F f_;
};

// dX = F::Gradient of all inputs, element by element. Throws unless they have one size. dX gets the
// shape of the first and may be any of them.
template <class Context, class F, class Types = RealTypes>
class UnaryGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  UnaryGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), f_(MakeFunctor<F>(*this)) {}

  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& first = Input(0);
    CAFFE_ENFORCE_LE(InputSize(), 3);
    const T* in[3] = {};
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE_EQ(Input(i).numel(), first.numel(), "input ", i, " has shape ",
                       ShapeString(Input(i).sizes()), ", input 0 ", ShapeString(first.sizes()));
      in[i] = Input(i).template data<T>();
    }
    Tensor* dX = Output(0);
    dX->ResizeLike(first);
    T* dx = dX->template mutable_data<T>();
    Context* context = &context_;
    WithFunction(f_, [&](const auto& f) {
      const portable::GradientOf<std::decay_t<decltype(f)>> gradient{f};
      if constexpr (requires(float v) { f.Gradient(v, v, v); }) {
        MapElements(gradient, first.numel(), context, dx, in[0], in[1], in[2]);
      } else {
        MapElements(gradient, first.numel(), context, dx, in[0], in[1]);
      }
    });
    return true;
  }

 private:
  const F f_;
};

// Register UnaryOp and UnaryGradientOp of a function: REGISTER_CPU_OPERATOR_WITH_GRADIENT(Elu,
// EluFunction); element types may follow.
#define REGISTER_CPU_OPERATOR_WITH_GRADIENT(name, ...)           \
  REGISTER_CPU_OPERATOR(name, UnaryOp<CPUContext, __VA_ARGS__>); \
  REGISTER_CPU_OPERATOR(name##Gradient, UnaryGradientOp<CPUContext, __VA_ARGS__>)
#define REGISTER_CUDA_OPERATOR_WITH_GRADIENT(name, ...)            \
  REGISTER_CUDA_OPERATOR(name, UnaryOp<CUDAContext, __VA_ARGS__>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, UnaryGradientOp<CUDAContext, __VA_ARGS__>)

// Fill the schema of an operator and of its gradient operator, which reads Y or X, and dY.
void UnarySchema(OpSchema& schema);
void UnaryGradientSchemaOfOutput(OpSchema& schema);
void UnaryGradientSchemaOfInput(OpSchema& schema);

}  // namespace caffe2
