// EQ, NE, LT, LE, GT, GE, and the logical operators And, Or, Xor, Not.
#include "operators/elementwise/comparison_op.h"

namespace caffe2 {
namespace {

#define CAFFE2_COMPARISON_FUNCTOR(name, op) \
  struct name {                             \
    template <typename T>                   \
    bool operator()(T a, T b) const {       \
      return a op b;                        \
    }                                       \
  }
CAFFE2_COMPARISON_FUNCTOR(EqualFunctor, ==);
CAFFE2_COMPARISON_FUNCTOR(NotEqualFunctor, !=);
CAFFE2_COMPARISON_FUNCTOR(LessFunctor, <);
CAFFE2_COMPARISON_FUNCTOR(LessEqualFunctor, <=);
CAFFE2_COMPARISON_FUNCTOR(GreaterFunctor, >);
CAFFE2_COMPARISON_FUNCTOR(GreaterEqualFunctor, >=);
CAFFE2_COMPARISON_FUNCTOR(AndFunctor, &&);
CAFFE2_COMPARISON_FUNCTOR(OrFunctor, ||);
CAFFE2_COMPARISON_FUNCTOR(XorFunctor, !=);
#undef CAFFE2_COMPARISON_FUNCTOR

struct NotFunctor {
  bool operator()(bool x) const { return !x; }
};

template <class Types, class F>
using Comparison = BinaryElementwiseOp<Types, CPUContext, CpuBinary<F>, FixedType<bool>>;

void DescribeComparison(OpSchema& schema) {
  DescribeBinary(schema);
  schema.TensorInferenceFunction(InferBinary(TensorProto::BOOL));
}
void DescribeLogical(OpSchema& schema) {
  DescribeComparison(schema);
  schema.AllowInplace({{0, 0}, {1, 0}});
}

}  // namespace

REGISTER_CPU_OPERATOR(EQ, Comparison<EqualityTypes, EqualFunctor>);
REGISTER_CPU_OPERATOR(NE, Comparison<EqualityTypes, NotEqualFunctor>);
REGISTER_CPU_OPERATOR(LT, Comparison<OrderTypes, LessFunctor>);
REGISTER_CPU_OPERATOR(LE, Comparison<OrderTypes, LessEqualFunctor>);
REGISTER_CPU_OPERATOR(GT, Comparison<OrderTypes, GreaterFunctor>);
REGISTER_CPU_OPERATOR(GE, Comparison<OrderTypes, GreaterEqualFunctor>);
REGISTER_CPU_OPERATOR(And, Comparison<BoolTypes, AndFunctor>);
REGISTER_CPU_OPERATOR(Or, Comparison<BoolTypes, OrFunctor>);
REGISTER_CPU_OPERATOR(Xor, Comparison<BoolTypes, XorFunctor>);
REGISTER_CPU_OPERATOR(Not, UnaryElementwiseOp<BoolTypes, CPUContext, CpuUnary<NotFunctor>>);

OPERATOR_SCHEMA(EQ).FillUsing(DescribeComparison).SetDoc("C = (A == B), bool, element by element.");
OPERATOR_SCHEMA(NE).FillUsing(DescribeComparison).SetDoc("C = (A != B), bool, element by element.");
OPERATOR_SCHEMA(LT).FillUsing(DescribeComparison).SetDoc("C = (A < B), bool, element by element.");
OPERATOR_SCHEMA(LE).FillUsing(DescribeComparison).SetDoc("C = (A <= B), bool, element by element.");
OPERATOR_SCHEMA(GT).FillUsing(DescribeComparison).SetDoc("C = (A > B), bool, element by element.");
OPERATOR_SCHEMA(GE).FillUsing(DescribeComparison).SetDoc("C = (A >= B), bool, element by element.");
OPERATOR_SCHEMA(And).FillUsing(DescribeLogical).SetDoc("C = A and B, of bools.");
OPERATOR_SCHEMA(Or).FillUsing(DescribeLogical).SetDoc("C = A or B, of bools.");
OPERATOR_SCHEMA(Xor).FillUsing(DescribeLogical).SetDoc("C = A or B but not both, of bools.");
OPERATOR_SCHEMA(Not)
    .NumInputs(1)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShape()
    .SetDoc("Y = not X, of bools.")
    .Input(0, "X", "A bool tensor.")
    .Output(0, "Y", "The negated values.");

SHOULD_NOT_DO_GRADIENT(EQ);
SHOULD_NOT_DO_GRADIENT(NE);
SHOULD_NOT_DO_GRADIENT(LT);
SHOULD_NOT_DO_GRADIENT(LE);
SHOULD_NOT_DO_GRADIENT(GT);
SHOULD_NOT_DO_GRADIENT(GE);
SHOULD_NOT_DO_GRADIENT(And);
SHOULD_NOT_DO_GRADIENT(Or);
SHOULD_NOT_DO_GRADIENT(Xor);
SHOULD_NOT_DO_GRADIENT(Not);

}  // namespace caffe2
