#include "operators/elementwise/comparison_op.h"

#include "operators/elementwise/binary_op.h"

namespace caffe2 {
namespace {

template <class Types, class F>
using Comparison = BinaryOp<CPUContext, F, Types, FixedType<bool>>;

// The result has another type than the operands, so the operator cannot work in place.
void ComparisonSchema(OpSchema& schema) {
  BinarySchema(schema);
  schema.AllowInplace([](int, int) { return false; })
      .TensorInferenceFunction(InferBinary(TensorProto::BOOL));
}

}  // namespace

REGISTER_CPU_OPERATOR(EQ, Comparison<EqualityTypes, EqualFunction>);
REGISTER_CPU_OPERATOR(NE, Comparison<EqualityTypes, NotEqualFunction>);
REGISTER_CPU_OPERATOR(LT, Comparison<OrderTypes, LessFunction>);
REGISTER_CPU_OPERATOR(LE, Comparison<OrderTypes, LessEqualFunction>);
REGISTER_CPU_OPERATOR(GT, Comparison<OrderTypes, GreaterFunction>);
REGISTER_CPU_OPERATOR(GE, Comparison<OrderTypes, GreaterEqualFunction>);
REGISTER_CPU_OPERATOR(And, Comparison<BoolTypes, AndFunction>);
REGISTER_CPU_OPERATOR(Or, Comparison<BoolTypes, OrFunction>);
REGISTER_CPU_OPERATOR(Xor, Comparison<BoolTypes, NotEqualFunction>);
REGISTER_CPU_OPERATOR(Not, UnaryOp<CPUContext, NotFunction, BoolTypes>);

OPERATOR_SCHEMA(EQ).FillUsing(ComparisonSchema).SetDoc("C = (A == B), bool, element by element.");
OPERATOR_SCHEMA(NE).FillUsing(ComparisonSchema).SetDoc("C = (A != B), bool, element by element.");
OPERATOR_SCHEMA(LT).FillUsing(ComparisonSchema).SetDoc("C = (A < B), bool, element by element.");
OPERATOR_SCHEMA(LE).FillUsing(ComparisonSchema).SetDoc("C = (A <= B), bool, element by element.");
OPERATOR_SCHEMA(GT).FillUsing(ComparisonSchema).SetDoc("C = (A > B), bool, element by element.");
OPERATOR_SCHEMA(GE).FillUsing(ComparisonSchema).SetDoc("C = (A >= B), bool, element by element.");
OPERATOR_SCHEMA(And).FillUsing(BinarySchema).SetDoc("C = A and B, of bools.");
OPERATOR_SCHEMA(Or).FillUsing(BinarySchema).SetDoc("C = A or B, of bools.");
OPERATOR_SCHEMA(Xor).FillUsing(BinarySchema).SetDoc("C = A or B but not both, of bools.");
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
