#include "operators/matmul/batch_matmul_op.h"

#include <algorithm>

namespace caffe2 {
namespace {

// The common shape of two lists of leading axes. Sizes must agree or be 1; missing axes count as 1.
std::vector<int64_t> BroadcastDims(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> dims(std::max(a.size(), b.size()));
  for (size_t i = 0; i < dims.size(); ++i) {  // from the last axis
    const int64_t a_size = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t b_size = i < b.size() ? b[b.size() - 1 - i] : 1;
    CAFFE_ENFORCE(a_size == b_size || a_size == 1 || b_size == 1, "the leading axes ",
                  ShapeString(a), " and ", ShapeString(b), " cannot be broadcast");
    dims[dims.size() - 1 - i] = a_size == 1 ? b_size : a_size;
  }
  return dims;
}

// For each element of an array of shape `dims`, in order, the index of the element of an array of
// shape `own` that is broadcast to it.
std::vector<int64_t> BroadcastIndex(const std::vector<int64_t>& dims,
                                    const std::vector<int64_t>& own) {
  const int64_t n = CheckedNumel(dims);
  std::vector<int64_t> index(n);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, stride = 1;
    for (size_t axis = 0; axis < own.size(); ++axis) {  // from the last
      const int64_t size = dims[dims.size() - 1 - axis], own_size = own[own.size() - 1 - axis];
      if (own_size != 1) index[i] += rest % size * stride;
      rest /= size;
      stride *= own_size;
    }
  }
  return index;
}

}  // namespace

BatchMatMulPlan PlanBatchMatMul(const std::vector<int64_t>& a_dims,
                                const std::vector<int64_t>& b_dims, bool trans_a, bool trans_b,
                                bool broadcast) {
  const size_t min = broadcast ? 1 : 2;
  CAFFE_ENFORCE(a_dims.size() >= min && b_dims.size() >= min, "A ", ShapeString(a_dims), " and B ",
                ShapeString(b_dims), " need at least ", min, " axes");
  std::vector<int64_t> a = a_dims, b = b_dims;
  if (a_dims.size() == 1) a.insert(trans_a ? a.end() : a.begin(), 1);  // a row vector
  if (b_dims.size() == 1) b.insert(trans_b ? b.begin() : b.end(), 1);  // a column vector
  BatchMatMulPlan p;
  p.m = a[a.size() - (trans_a ? 1 : 2)];
  p.k = a[a.size() - (trans_a ? 2 : 1)];
  p.n = b[b.size() - (trans_b ? 2 : 1)];
  CAFFE_ENFORCE(p.k == (b[b.size() - (trans_b ? 1 : 2)]),
                "the columns of A and the rows of B must match: A has shape ", ShapeString(a_dims),
                trans_a ? " (transposed)" : "", ", B ", ShapeString(b_dims),
                trans_b ? " (transposed)" : "");
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  CAFFE_ENFORCE(
      broadcast || a == b,
      "the leading axes of A and B must be the same without the argument broadcast: A has shape ",
      ShapeString(a_dims), ", B ", ShapeString(b_dims));
  p.y_dims = BroadcastDims(a, b);
  p.batch = CheckedNumel(p.y_dims);
  p.one_a = CheckedNumel(a) == 1;
  p.one_b = CheckedNumel(b) == 1;
  const bool simple =
      (p.one_a || CheckedNumel(a) == p.batch) && (p.one_b || CheckedNumel(b) == p.batch);
  if (!simple) {
    p.a_index = BroadcastIndex(p.y_dims, a);
    p.b_index = BroadcastIndex(p.y_dims, b);
  }
  if (a_dims.size() > 1) p.y_dims.push_back(p.m);
  if (b_dims.size() > 1) p.y_dims.push_back(p.n);
  return p;
}

REGISTER_CPU_OPERATOR(BatchMatMul, BatchMatMulOp<CPUContext>);

namespace {

BatchMatMulPlan PlanOf(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const ArgumentHelper arguments(def);
  const auto flag = [&](const char* name) {
    return arguments.GetSingleArgument<int>(name, 0) != 0;
  };
  return PlanBatchMatMul(GetDimsVector(in[0]), GetDimsVector(in[1]), flag("trans_a"),
                         flag("trans_b"), flag("broadcast"));
}

OpSchema::Cost CostOf(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const BatchMatMulPlan p = PlanOf(def, in);
  OpSchema::Cost cost;
  cost.flops = 2 * static_cast<uint64_t>(p.batch) * p.m * p.n * p.k;
  cost.bytes_read = NbytesOf(in[0]) + NbytesOf(in[1]);
  cost.bytes_written = NbytesOf(CreateTensorShape(p.y_dims, in[0].data_type()));
  return cost;
}

}  // namespace

OPERATOR_SCHEMA(BatchMatMul)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{CreateTensorShape(PlanOf(def, in).y_dims, in[0].data_type())};
    })
    .CostInferenceFunction(CostOf)
    .SetDoc(
        "Y[i] = op(A[i]) op(B[i]) for matrices in the last two axes, where i runs over the "
        "leading axes and op transposes if asked; for float and bfloat16 tensors, on CUDA devices "
        "also float16.")
    .Arg<int>("trans_a", "(default 0) 1 transposes the last two axes of A.")
    .Arg<int>("trans_b", "(default 0) 1 transposes the last two axes of B.")
    .Arg<int>("broadcast",
              "(default 0) 1: broadcasts the leading axes and takes vectors as numpy.matmul does; "
              "there is no gradient. 0: the leading axes must be equal.")
    .Input(0, "A", "[..., M, K], or [..., K, M] if transposed.")
    .Input(1, "B", "[..., K, N], or [..., N, K] if transposed.")
    .Output(0, "Y", "[..., M, N].");

// The formulas of MatMul, for each matrix of the batch.
class GetBatchMatMulGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyArguments() const override { return false; }  // the factors differ

  std::vector<OperatorDef> GetGradientDefs() override {
    const ArgumentHelper arguments(Def());
    CAFFE_ENFORCE(arguments.GetSingleArgument<int>("broadcast", 0) == 0,
                  "no gradient flows through BatchMatMul with broadcast");
    const bool trans_a = arguments.GetSingleArgument<int>("trans_a", 0) != 0;
    const bool trans_b = arguments.GetSingleArgument<int>("trans_b", 0) != 0;
    return {trans_a ? Product(I(1), trans_b, GO(0), true, GI(0))
                    : Product(GO(0), false, I(1), !trans_b, GI(0)),
            trans_b ? Product(GO(0), true, I(0), trans_a, GI(1))
                    : Product(I(0), !trans_a, GO(0), false, GI(1))};
  }

 private:
  static OperatorDef Product(const std::string& left, bool trans_left, const std::string& right,
                             bool trans_right, const std::string& output) {
    return CreateOperatorDef(
        "BatchMatMul", "", {left, right}, {output},
        {MakeArgument<int>("trans_a", trans_left), MakeArgument<int>("trans_b", trans_right)});
  }
};
REGISTER_GRADIENT(BatchMatMul, GetBatchMatMulGradient);

}  // namespace caffe2
