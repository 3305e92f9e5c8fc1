#include "operators/matmul/matmul_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(MatMul, MatMulOp<CPUContext>);

namespace {

struct MatrixShape {
  int64_t rows = 0;
  int64_t columns = 0;
};

// The shape of operand `name` ("a" or "b") as a matrix, after transposition.
MatrixShape OperandShape(const OperatorDef& def, const std::string& name,
                         const TensorShape& shape) {
  const ArgumentHelper arguments(def);
  const std::vector<int64_t> dims = GetDimsVector(shape);
  const int ndim = static_cast<int>(dims.size());
  int axis = arguments.GetSingleArgument<int>("axis_" + name, 1);
  CAFFE_ENFORCE(axis >= -ndim && axis < ndim, "argument axis_", name, " (", axis,
                ") is out of range for shape ", ShapeString(dims));
  if (axis < 0) axis += ndim;
  MatrixShape matrix{CheckedNumel(dims.data(), axis),
                     CheckedNumel(dims.data() + axis, dims.size() - axis)};
  if (arguments.GetSingleArgument<int>("trans_" + name, 0) != 0) {
    std::swap(matrix.rows, matrix.columns);
  }
  return matrix;
}

std::vector<TensorShape> Infer(const OperatorDef& def, const std::vector<TensorShape>& in) {
  if (in.size() > 2) return {CreateTensorShape(GetDimsVector(in[2]), in[0].data_type())};
  return {
      CreateTensorShape({OperandShape(def, "a", in[0]).rows, OperandShape(def, "b", in[1]).columns},
                        in[0].data_type())};
}

OpSchema::Cost CostOfMatMul(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const MatrixShape a = OperandShape(def, "a", in[0]);
  const int64_t n = OperandShape(def, "b", in[1]).columns;
  OpSchema::Cost cost;
  cost.flops = 2 * static_cast<uint64_t>(a.rows) * a.columns * n;
  cost.bytes_read = NbytesOf(in[0]) + NbytesOf(in[1]);
  cost.bytes_written = NbytesOf(Infer(def, in)[0]);
  return cost;
}

}  // namespace

OPERATOR_SCHEMA(MatMul)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .TensorInferenceFunction(Infer)
    .CostInferenceFunction(CostOfMatMul)
    .SetDoc(
        "Y = op(A) op(B), where A and B are seen as matrices and op transposes if asked; for "
        "float and bfloat16 tensors, on CUDA devices also float16.")
    .Arg<int>("axis_a",
              "(default 1) A's rows are its axes before this one, its columns the others.")
    .Arg<int>("axis_b", "(default 1) The same for B.")
    .Arg<int>("trans_a", "(default 0) 1 transposes the matrix A.")
    .Arg<int>("trans_b", "(default 0) 1 transposes the matrix B.")
    .Input(0, "A", "The left factor.")
    .Input(1, "B", "The right factor.")
    .Input(2, "shape_like", "Optional: Y takes its shape, which must have as many elements.")
    .Output(0, "Y", "The product, [M, N].");

// With G the gradient of Y, each gradient is a product of G and the other factor:
//   A B:   dA = G B',  dB = A' G        A B':   dA = G B,   dB = G' A
//   A' B:  dA = B G',  dB = A G         A' B':  dA = B' G', dB = G' A'
class GetMatMulGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyArguments() const override { return false; }  // the factors differ

  std::vector<OperatorDef> GetGradientDefs() override {
    const ArgumentHelper arguments(Def());
    const bool trans_a = arguments.GetSingleArgument<int>("trans_a", 0) != 0;
    const bool trans_b = arguments.GetSingleArgument<int>("trans_b", 0) != 0;
    const Factor a{I(0), arguments.GetSingleArgument<int>("axis_a", 1)};
    const Factor b{I(1), arguments.GetSingleArgument<int>("axis_b", 1)};
    // A given shape need not be a matrix, and the gradient of Y has it.
    CAFFE_ENFORCE(Def().input_size() == 2, "no gradient flows through MatMul with a given shape");
    const Factor g{GO(0), 1};
    return {trans_a ? Product(b, trans_b, g, true, I(0), GI(0))
                    : Product(g, false, b, !trans_b, I(0), GI(0)),
            trans_b ? Product(g, true, a, trans_a, I(1), GI(1))
                    : Product(a, !trans_a, g, false, I(1), GI(1))};
  }

 private:
  struct Factor {
    std::string blob;
    int axis;
  };
  static OperatorDef Product(const Factor& left, bool trans_left, const Factor& right,
                             bool trans_right, const std::string& shape_like,
                             const std::string& output) {
    return CreateOperatorDef(
        "MatMul", "", {left.blob, right.blob, shape_like}, {output},
        {MakeArgument<int>("axis_a", left.axis), MakeArgument<int>("axis_b", right.axis),
         MakeArgument<int>("trans_a", trans_left), MakeArgument<int>("trans_b", trans_right)});
  }
};
REGISTER_GRADIENT(MatMul, GetMatMulGradient);

}  // namespace caffe2
