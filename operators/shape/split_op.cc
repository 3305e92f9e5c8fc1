#include "operators/common/cpu_only.h"
#include "operators/segment/segments.h"
#include "operators/shape/concat_split.h"

namespace caffe2 {

std::vector<int64_t> SplitLengths(const std::vector<int64_t>& given, int pieces, int64_t size,
                                  bool add_axis) {
  std::vector<int64_t> lengths = given;
  if (lengths.empty()) {
    CAFFE_ENFORCE(size % pieces == 0, "a dimension of ", size, " cannot be split into ", pieces,
                  " equal parts");
    lengths.assign(pieces, size / pieces);
  }
  CAFFE_ENFORCE(static_cast<int>(lengths.size()) == pieces,
                "there must be one length for each of the ", pieces, " outputs, found ",
                lengths.size());
  int64_t sum = 0;
  for (int64_t length : lengths) {
    CAFFE_ENFORCE(length >= 0 && length <= size && (!add_axis || length == 1),
                  "a part cannot have length ", length, " in a dimension of ", size);
    sum += length;
  }
  CAFFE_ENFORCE(sum == size, "the lengths of the parts must add up to the dimension, ", size,
                "; they add up to ", sum);
  return lengths;
}

std::vector<int64_t> PieceShape(std::vector<int64_t> joined, int axis, int64_t length,
                                bool add_axis) {
  if (add_axis) {
    joined.erase(joined.begin() + axis);
  } else {
    joined[axis] = length;
  }
  return joined;
}

namespace {

// X, lengths -> pieces. The length of a piece is the sum of its share of the lengths.
class SplitByLengthsOp final : public Operator<CPUContext> {
 public:
  SplitByLengthsOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        concat_(ArgumentHelper(debug_def())),
        scaled_(GetSingleArgument<bool>("use_scaling_lengths", false)) {}

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
    const int axis = concat_.Canonical(X.dim());
    const Segments given = Segments::FromLengths(Input(1));
    CAFFE_ENFORCE(given.count() % OutputSize() == 0,
                  "the number of lengths must be a multiple of the ", OutputSize(),
                  " outputs, found ", given.count());
    int64_t scale = 1;
    if (scaled_ && given.size() > 0) {
      CAFFE_ENFORCE(X.size(axis) % given.size() == 0,
                    "the dimension to split must be a multiple of the sum of the lengths (",
                    given.size(), "), found ", X.size(axis));
      scale = X.size(axis) / given.size();
    }
    const int64_t share = given.count() / OutputSize();
    std::vector<int64_t> lengths(OutputSize(), 0);
    for (int64_t i = 0; i < given.count(); ++i) lengths[i / share] += scale * given.length(i);
    lengths = SplitLengths(lengths, OutputSize(), X.size(axis), /*add_axis=*/false);
    WritePieces(X, axis, lengths, /*add_axis=*/false, this, &context_);
    return true;
  }

 private:
  ConcatAxis concat_;
  bool scaled_;
};

class GetSplitGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> grads;
    for (int k = 0; k < Def().output_size(); ++k) {
      if (!GradOut(k).IsEmpty()) grads.push_back(GO(k));
    }
    if (grads.empty()) return {};
    CAFFE_ENFORCE(static_cast<int>(grads.size()) == Def().output_size(),
                  "the gradient of Split needs the gradients of all its outputs; give unused "
                  "outputs one with ZeroGradient");
    return SingleGradientDef("Concat", "", grads,
                             std::vector<std::string>{GI(0), MakeString("_", GI(0), "_dims")});
  }
};

std::vector<TensorShape> InferSplit(const OperatorDef& def, const std::vector<TensorShape>& in) {
  const ArgumentHelper arguments(def);
  const ConcatAxis concat(arguments);
  if (in.size() == 2 && !concat.add_axis) {
    return std::vector<TensorShape>(def.output_size(), UnknownTensorShape());
  }
  const std::vector<int64_t> dims = GetDimsVector(in[0]);
  const int axis = concat.Canonical(in[0].dims_size());
  std::vector<TensorShape> out;
  for (int64_t length : SplitLengths(arguments.GetRepeatedArgument<int64_t>("split"),
                                     def.output_size(), dims[axis], concat.add_axis)) {
    out.push_back(
        CreateTensorShape(PieceShape(dims, axis, length, concat.add_axis), in[0].data_type()));
  }
  return out;
}

void DescribeSplit(OpSchema& schema) {
  schema.NumInputs(1, 2)
      .NumOutputs(1, std::numeric_limits<int>::max())
      .TensorInferenceFunction(InferSplit)
      .Arg<int>("axis", "Axis that is split; may be negative. Default: the channels of `order`.")
      .ArgList<int>("split", "The length of each part. Default: equal parts.")
      .Arg<bool>("add_axis",
                 "1: each part has length 1, and the axis is removed from it. Default 0.")
      .ArgOrder("(default NCHW) Used if `axis` is not given.")
      .Input(0, "input", "A tensor of any type and shape.")
      .Input(1, "split", "Optional: the length of each part, int32, in host memory.")
      .Output(0, "output_0", "First of the parts; as many as there are outputs.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Split, SplitOp<CPUContext>);
REGISTER_CPU_OPERATOR(DepthSplit, SplitOp<CPUContext>);
REGISTER_CPU_OPERATOR(SplitByLengths, SplitByLengthsOp);
OPERATOR_SCHEMA(Split).FillUsing(DescribeSplit).SetDoc("Splits a tensor into parts along an axis.");
OPERATOR_SCHEMA(DepthSplit)
    .FillUsing(DescribeSplit)
    .Arg("dimensions", "Accepted and without effect.")
    .SetDoc("The older name of Split: splits a tensor into parts along an axis.");
OPERATOR_SCHEMA(SplitByLengths)
    .NumInputs(2)
    .NumOutputs(1, std::numeric_limits<int>::max())
    .SetDoc(
        "Splits a tensor into parts along an axis. Each output takes the same number of lengths, "
        "in order, and has their sum as its length.")
    .Arg<int>("axis", "Axis that is split; may be negative. Default: the channels of `order`.")
    .ArgOrder("(default NCHW) Used if `axis` is not given.")
    .Arg<bool>(
        "use_scaling_lengths",
        "1: the lengths are multiplied so that they add up to the dimension. Default 0: they do.")
    .Input(0, "input", "A tensor of any type and shape.")
    .Input(1, "lengths", "int32 or int64, a multiple of the number of outputs.")
    .Output(0, "output_0", "First of the parts; as many as there are outputs.")
    .CpuOnly(cpu_only::kRecordFeatures);
REGISTER_GRADIENT(Split, GetSplitGradient);
REGISTER_GRADIENT(SplitByLengths, GetSplitGradient);
REGISTER_GRADIENT(DepthSplit, GetSplitGradient);

}  // namespace caffe2
