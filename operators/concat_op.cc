#include "operators/concat_split.h"

namespace caffe2 {

ConcatAxis::ConcatAxis(const ArgumentHelper& arguments) {
  if (arguments.HasArgument("axis")) {
    axis = arguments.GetSingleArgument<int>("axis", -1);
    add_axis = arguments.GetSingleArgument<bool>("add_axis", false);
    return;
  }
  const std::string order = arguments.GetSingleArgument<std::string>("order", "NCHW");
  CAFFE_ENFORCE(order == "NCHW" || order == "NHWC", "unknown order ", order);
  axis = order == "NCHW" ? 1 : 3;
}

int ConcatAxis::Canonical(int joined_dims) const {
  CAFFE_ENFORCE(axis >= -joined_dims && axis < joined_dims, "axis ", axis, " is out of range for ",
                joined_dims, " dimensions");
  return axis < 0 ? axis + joined_dims : axis;
}

namespace {

// The shape of the joined tensor. Throws if the pieces do not go together.
std::vector<int64_t> JoinedShape(const std::vector<std::vector<int64_t>>& pieces,
                                 const ConcatAxis& concat) {
  std::vector<int64_t> shape = pieces[0];
  const int dims = static_cast<int>(shape.size());
  const int axis = concat.Canonical(dims + concat.add_axis);
  int64_t joined = 0;
  for (size_t k = 0; k < pieces.size(); ++k) {
    bool fits = pieces[k].size() == shape.size();
    for (int d = 0; fits && d < dims; ++d) {
      fits = (d == axis && !concat.add_axis) || pieces[k][d] == shape[d];
    }
    CAFFE_ENFORCE(fits, "input ", k, " of shape ", ShapeString(pieces[k]),
                  " cannot be joined to input 0 of shape ", ShapeString(pieces[0]), " along axis ",
                  axis);
    joined += concat.add_axis ? 1 : pieces[k][axis];
  }
  if (concat.add_axis) {
    shape.insert(shape.begin() + axis, joined);
  } else {
    shape[axis] = joined;
  }
  return shape;
}

template <class Context>
class ConcatOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ConcatOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), concat_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override {
    std::vector<std::vector<int64_t>> pieces;
    for (int k = 0; k < InputSize(); ++k) {
      CAFFE_ENFORCE(Input(k).has_data() && Input(k).dtype() == Input(0).dtype(), "input ", k, " (",
                    Input(k).DebugString(), ") has not the type of input 0 (",
                    Input(0).DebugString(), ") or holds no data");
      pieces.push_back(Input(k).sizes());
    }
    Tensor* Y = Output(0);
    Y->Resize(JoinedShape(pieces, concat_));
    const int axis = concat_.Canonical(Y->dim());
    WriteLengths(axis);

    const TypeMeta meta = Input(0).dtype();
    char* y = static_cast<char*>(Y->raw_mutable_data(meta));
    const int64_t outer = Y->size_to_dim(axis), y_run = Y->size_from_dim(axis);
    for (int k = 0; k < InputSize(); ++k) {
      const int64_t run = outer == 0 ? 0 : Input(k).numel() / outer;
      CopySlab(meta, outer, run, Input(k).raw_data(), run, y, y_run, &context_);
      y += run * meta.itemsize();
    }
    return true;
  }

 private:
  void WriteLengths(int axis) {
    Tensor* lengths = this->OutputCPU(1);
    lengths->Resize(InputSize());
    int32_t* data = lengths->template mutable_data<int32_t>();
    for (int k = 0; k < InputSize(); ++k) {
      data[k] = concat_.add_axis ? 1 : Input(k).dim32(axis);
    }
  }

  ConcatAxis concat_;
};

class GetConcatGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    if (GradOut(0).IsEmpty()) return {};
    std::vector<std::string> grads;
    for (int k = 0; k < Def().input_size(); ++k) grads.push_back(GI(k));
    return SingleGradientDef("Split", "", std::vector<std::string>{GO(0), O(1)}, grads);
  }
};

std::vector<TensorShape> InferConcat(const OperatorDef& def, const std::vector<TensorShape>& in) {
  std::vector<std::vector<int64_t>> pieces;
  for (const TensorShape& shape : in) pieces.push_back(GetDimsVector(shape));
  return {
      CreateTensorShape(JoinedShape(pieces, ConcatAxis(ArgumentHelper(def))), in[0].data_type()),
      CreateTensorShape({static_cast<int64_t>(in.size())}, TensorProto::INT32)};
}

void DescribeConcat(OpSchema& schema) {
  schema.NumInputs(1, std::numeric_limits<int>::max())
      .NumOutputs(2)
      .TensorInferenceFunction(InferConcat)
      .Arg("axis",
           "Axis along which the inputs are joined; may be negative. Default: the channels "
           "of `order`.")
      .Arg("add_axis", "1: the inputs are stacked along a new axis. Default 0.")
      .Arg("order", "NCHW or NHWC, used where there is no axis. Default NCHW.")
      .Input(0, "X1", "First of the tensors, of one type, which differ in the joined axis only.")
      .Output(0, "concat_result", "The joined tensor.")
      .Output(1, "split_info", "int32, in host memory: the size of each input along the axis.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Concat, ConcatOp<CPUContext>);
REGISTER_CPU_OPERATOR(DepthConcat, ConcatOp<CPUContext>);
OPERATOR_SCHEMA(Concat).FillUsing(DescribeConcat).SetDoc("Joins tensors along an axis.");
OPERATOR_SCHEMA(DepthConcat)
    .FillUsing(DescribeConcat)
    .SetDoc("The older name of Concat: joins tensors along an axis.");
REGISTER_GRADIENT(Concat, GetConcatGradient);
REGISTER_GRADIENT(DepthConcat, GetConcatGradient);

}  // namespace caffe2
