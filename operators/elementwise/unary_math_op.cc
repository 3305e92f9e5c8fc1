// Functions of one number: Negative, Abs, Sign, Exp, Log, Sqr, Sqrt, Sin, Cos, Ceil, Floor.
#include <cmath>

#include "operators/elementwise/elementwise_ops.h"

namespace caffe2 {
namespace {

struct NegativeFunctor {
  template <typename T>
  T operator()(T x) const {
    return -x;
  }
};
struct AbsFunctor {
  template <typename T>
  T operator()(T x) const {
    return x < T(0) ? -x : x;
  }
};
struct SignFunctor {
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>((x > T(0)) - (x < T(0)));
  }
};
struct SqrFunctor {
  template <typename T>
  T operator()(T x) const {
    return x * x;
  }
};
struct ExpFunctor {
  template <typename T>
  T operator()(T x) const {
    return std::exp(x);
  }
};
struct LogFunctor {
  template <typename T>
  T operator()(T x) const {
    return std::log(x);
  }
};
struct SqrtFunctor {
  template <typename T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct SinFunctor {
  template <typename T>
  T operator()(T x) const {
    return std::sin(x);
  }
};
struct CosFunctor {
  template <typename T>
  T operator()(T x) const {
    return std::cos(x);
  }
};
struct CeilFunctor {
  template <typename T>
  T operator()(T x) const {
    return std::ceil(x);
  }
};
struct FloorFunctor {
  template <typename T>
  T operator()(T x) const {
    return std::floor(x);
  }
};

template <class Types, class F>
using Unary = UnaryElementwiseOp<Types, CPUContext, CpuUnary<F>>;

void DescribeUnary(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .IdenticalTypeAndShape()
      .Input(0, "X",
             "A floating-point tensor of any shape (integers too for Negative, Abs, Sign "
             "and Sqr).")
      .Output(0, "Y", "The results, of X's type and shape.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Negative, Unary<NumericTypes, NegativeFunctor>);
REGISTER_CPU_OPERATOR(Abs, Unary<NumericTypes, AbsFunctor>);
REGISTER_CPU_OPERATOR(Sign, Unary<NumericTypes, SignFunctor>);
REGISTER_CPU_OPERATOR(Sqr, Unary<NumericTypes, SqrFunctor>);
REGISTER_CPU_OPERATOR(Exp, Unary<FloatTypes, ExpFunctor>);
REGISTER_CPU_OPERATOR(Log, Unary<FloatTypes, LogFunctor>);
REGISTER_CPU_OPERATOR(Sqrt, Unary<FloatTypes, SqrtFunctor>);
REGISTER_CPU_OPERATOR(Sin, Unary<FloatTypes, SinFunctor>);
REGISTER_CPU_OPERATOR(Cos, Unary<FloatTypes, CosFunctor>);
REGISTER_CPU_OPERATOR(Ceil, Unary<FloatTypes, CeilFunctor>);
REGISTER_CPU_OPERATOR(Floor, Unary<FloatTypes, FloorFunctor>);

OPERATOR_SCHEMA(Negative).FillUsing(DescribeUnary).SetDoc("Y = -X.");
OPERATOR_SCHEMA(Abs).FillUsing(DescribeUnary).SetDoc("Y = |X|.");
OPERATOR_SCHEMA(Sign).FillUsing(DescribeUnary).SetDoc("Y = -1, 0 or 1: the sign of X.");
OPERATOR_SCHEMA(Sqr).FillUsing(DescribeUnary).SetDoc("Y = X^2.");
OPERATOR_SCHEMA(Exp).FillUsing(DescribeUnary).SetDoc("Y = e^X.");
OPERATOR_SCHEMA(Log).FillUsing(DescribeUnary).SetDoc("Y = the natural logarithm of X.");
OPERATOR_SCHEMA(Sqrt).FillUsing(DescribeUnary).SetDoc("Y = the square root of X.");
OPERATOR_SCHEMA(Sin).FillUsing(DescribeUnary).SetDoc("Y = sin(X), X in radians.");
OPERATOR_SCHEMA(Cos).FillUsing(DescribeUnary).SetDoc("Y = cos(X), X in radians.");
OPERATOR_SCHEMA(Ceil)
    .FillUsing(DescribeUnary)
    .SetDoc("Y = the smallest whole number that is not less than X.");
OPERATOR_SCHEMA(Floor)
    .FillUsing(DescribeUnary)
    .SetDoc("Y = the largest whole number that is not greater than X.");

}  // namespace caffe2
