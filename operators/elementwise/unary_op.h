// Operators that apply a function of numbers to each element, and their gradients.
//
// <stem>_op.h holds the function as a functor for the host and for devices (host_device.h):
//
//   struct EluFunction {
//     static constexpr const char* kName = "Elu";
//     explicit EluFunction(const OperatorBase& op);  // reads the arguments; absent without them
//     CAFFE2_HOST_DEVICE_INLINE float operator()(float x) const;          // y
//     CAFFE2_HOST_DEVICE_INLINE float Gradient(float y, float dy) const;  // dx
//     float alpha;
//   };
//
// Gradient takes the inputs of the gradient operator; dY is the last one. <stem>_op.cc registers
// the operators for the CPU with schema and gradient maker, and <stem>_op_cuda.cc registers them
// for CUDA devices. The .cu file of the family instantiates the kernels.
#pragma once

#include "operators/common/element_type.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {

template <class F>
inline constexpr bool kIsGradient = false;
template <class F>
inline constexpr bool kIsGradient<host_device::GradientOf<F>> = true;

// True if F is a function of these numbers.
template <class F, typename... N>
inline constexpr bool kTakes = std::is_invocable_v<F, N...>;
template <class F, typename... N>
inline constexpr bool kTakes<host_device::GradientOf<F>, N...> = requires(F f, N... values) {
  f.Gradient(values...);
};

// An F, constructed from the operator if F takes arguments.
template <class F>
F MakeFunctor(const OperatorBase& op) {
  if constexpr (kIsGradient<F>) {
    return F{MakeFunctor<decltype(F::f)>(op)};
  } else if constexpr (std::is_constructible_v<F, const OperatorBase&>) {
    return F(op);
  } else {
    return F();
  }
}

// Calls body(f). If an argument of the operator chooses between functions, F::Choose calls body
// with the chosen one, because a choice inside the loop would prevent its vectorization.
template <class F, class Body>
void WithFunction(const F& f, const Body& body) {
  if constexpr (kIsGradient<F>) {
    WithFunction(
        f.f, [&](const auto& g) { body(host_device::GradientOf<std::decay_t<decltype(g)>>{g}); });
  } else if constexpr (requires { f.Choose(body); }) {
    f.Choose(body);
  } else {
    body(f);
  }
}

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

// Throws EnforceNotMet unless there are at most three inputs, as large as the first.
void CheckSameSizes(const OperatorBase& op);

// Y = F of all inputs (one to three), element by element. Throws EnforceNotMet unless they have the
// same size and type. Y gets the shape of the first input, and may be an input of the same type.
template <class Context, class F, class Types = RealTypes, class Result = SameType>
class MapOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  MapOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), f_(MakeFunctor<F>(*this)) {}

  bool RunOnDevice() override { return Types::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    using R = typename Result::template Of<T>;
    const Tensor& first = Input(0);
    for (int i = 1; i < InputSize(); ++i) {
      if (Input(i).numel() != first.numel()) [[unlikely]]
        CheckSameSizes(*this);  // it throws
    }
    const T* x = first.template data<T>();
    const auto other = [&](int i) { return Input(i).template data<T>(); };
    Output(0)->ResizeLike(first);
    R* y = Output(0)->template mutable_data<R>();
    Context* context = &context_;
    WithFunction(f_, [&](const auto& f) {
      using Function = std::decay_t<decltype(f)>;
      using N = decltype(host_device::Widen(T()));
      if constexpr (kTakes<Function, N>) {
        MapElements(f, first.numel(), context, y, x);
      } else if constexpr (kTakes<Function, N, N>) {
        MapElements(f, first.numel(), context, y, x, other(1));
      } else {
        MapElements(f, first.numel(), context, y, x, other(1), other(2));
      }
    });
    return true;
  }

 private:
  const F f_;
};

template <class Context, class F, class Types = RealTypes>
using UnaryOp = MapOp<Context, F, Types>;
template <class Context, class F, class Types = RealTypes>
using UnaryGradientOp = MapOp<Context, host_device::GradientOf<F>, Types>;

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
