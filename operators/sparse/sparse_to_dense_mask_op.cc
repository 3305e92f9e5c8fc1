// SparseToDenseMask: picks some feature ids out of sparse samples, as dense columns.
#include "operators/sparse/sparse_to_dense_mask_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {

void PickRows(TypeMeta meta, const std::vector<int64_t>& source, int64_t width, const void* x,
              const void* fallback, void* y, CPUContext* /*context*/) {
  const auto bytes = width * static_cast<int64_t>(meta.itemsize());
  char* to = static_cast<char*>(y);
  for (const int64_t row : source) {
    CopyItems(meta, width, row < 0 ? fallback : static_cast<const char*>(x) + row * bytes, to);
    to += bytes;
  }
}

namespace {

class GetSparseToDenseMaskGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs{I(0), GO(0)};
    if (Def().input_size() > 3) inputs.push_back(I(3));
    return SingleGradientDef("SparseToDenseMaskGradient", "", inputs, std::vector{GI(1)});
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(SparseToDenseMask, SparseToDenseMaskOp<CPUContext>);
REGISTER_CPU_OPERATOR(SparseToDenseMaskGradient, SparseToDenseMaskGradientOp<CPUContext>);
OPERATOR_SCHEMA(SparseToDenseMask)
    .NumInputs(3, 4)
    .NumOutputs(1, 2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const auto columns =
          static_cast<int64_t>(ArgumentHelper(def).GetRepeatedArgument<int64_t>("mask").size());
      std::vector<int64_t> dims{columns};
      if (in.size() > 3) dims.insert(dims.begin(), in[3].dims_size() > 0 ? in[3].dims(0) : 0);
      std::vector<TensorShape> out(def.output_size(), CreateTensorShape(dims, TensorProto::BOOL));
      for (int i = 1; i < in[1].dims_size(); ++i) dims.push_back(in[1].dims(i));
      out[0] = CreateTensorShape(dims, in[1].data_type());
      return out;
    })
    .SetDoc(
        "Converts samples of pairs (feature id, value) to a dense tensor with one column for each "
        "id of the argument mask. If a sample does not have the id, the element has a default "
        "value. Other ids are dropped. If an id occurs twice in a sample, the last one counts.")
    .ArgList<int>("mask", "The feature ids, each once.", true)
    .Arg<bool>("return_presence_mask", "(default 0) 1: there is a second output.")
    .Arg<int>(
        "max_skipped_indices",
        "(default 50) So many samples with negative ids, counted over all runs, are an error.")
    .Input(0, "indices", "int32 or int64: the feature ids of all samples, one after another.")
    .Input(1, "values", "Their values, of any type: one row for each id.")
    .Input(2, "default_value", "A value.")
    .Input(3, "lengths",
           "Optional int32 or int64: the number of ids of each sample. Default: one sample.")
    .Output(0, "output",
            "[samples, ids of the mask, shape of a value]; no first axis without lengths.")
    .Output(1, "presence_mask", "Bool [samples, ids of the mask]: where there was a value.");
OPERATOR_SCHEMA(SparseToDenseMaskGradient)
    .NumInputs(2, 3)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[1]);
      if (in.size() > 2 && !dims.empty()) dims.erase(dims.begin());
      if (dims.empty() || in[0].dims_size() == 0) {
        return std::vector<TensorShape>{UnknownTensorShape()};
      }
      dims[0] = in[0].dims(0);
      return std::vector<TensorShape>{CreateTensorShape(dims, in[1].data_type())};
    })
    .SetDoc("The gradient of SparseToDenseMask for the values.")
    .ArgList<int>("mask", "As in the forward operator.", true)
    .Input(0, "indices", "As in the forward operator.")
    .Input(1, "d_output", "The gradient of the output, float.")
    .Input(2, "lengths", "As in the forward operator.")
    .Output(0, "d_values", "The gradient of the values; 0 for dropped ones.");
REGISTER_GRADIENT(SparseToDenseMask, GetSparseToDenseMaskGradient);

}  // namespace caffe2
