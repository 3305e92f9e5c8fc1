// AddPadding, RemovePadding, GatherPadding: rows before and after each segment.
#include "operators/sequence/padding_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {
namespace {

// The inputs of the gradient operators: the gradient and, if the rows are segments, its lengths,
// which are the second output.
class PaddingGradientMaker : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;

 protected:
  std::vector<std::string> GradientInputs() {
    if (Def().input_size() == 1) return {GO(0)};
    CAFFE_ENFORCE(Def().output_size() > 1, "the gradient of ", Def().type(),
                  " with lengths needs its second output, found ", Def().output_size());
    return {GO(0), O(1)};
  }
};
// dX are the rows between the pads. The gradients of the pads are the sums of the other rows.
class GetAddPaddingGradient final : public PaddingGradientMaker {
 public:
  using PaddingGradientMaker::PaddingGradientMaker;
  std::vector<OperatorDef> GetGradientDefs() override {
    const std::vector<std::string> inputs = GradientInputs();
    std::vector<OperatorDef> ops{CreateOperatorDef("RemovePadding", "", inputs, {GI(0)})};
    if (Def().input_size() > 2) {
      std::vector<std::string> pads{GI(2)};
      if (Def().input_size() > 3) pads.push_back(GI(3));
      ops.push_back(CreateOperatorDef("GatherPadding", "", inputs, pads));
    }
    return ops;
  }
};
class GetRemovePaddingGradient final : public PaddingGradientMaker {
 public:
  using PaddingGradientMaker::PaddingGradientMaker;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("AddPadding", "", GradientInputs(), std::vector{GI(0)});
  }
};

void DescribePadding(OpSchema& schema) {
  schema.NumOutputs(1, 2)
      .Arg<int>("padding_width", "(>= 0, default 1) Rows before each segment.")
      .Arg<int>("end_padding_width", "Rows after each. Default, and below 0: as many as before.")
      .Input(1, "lengths", "Optional int32 or int64: the lengths of the segments. Default: one.")
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        std::vector<TensorShape> out(def.output_size(), UnknownTensorShape());
        if (def.output_size() > 1 && in.size() > 1) out[1] = in[1];
        return out;
      });
}

}  // namespace

REGISTER_CPU_OPERATOR(AddPadding, AddPaddingOp<CPUContext>);
REGISTER_CPU_OPERATOR(RemovePadding, RemovePaddingOp<CPUContext>);
REGISTER_CPU_OPERATOR(GatherPadding, GatherPaddingOp<CPUContext>);
OPERATOR_SCHEMA(AddPadding)
    .NumInputs(1, 4)
    .FillUsing(DescribePadding)
    .SetDoc("Adds rows before and after each segment of rows.")
    .Input(0, "data_in", "Rows of float, double, int32, int64 or bool.")
    .Input(2, "start_padding", "Optional: the row added before each segment. Default: zeros.")
    .Input(3, "end_padding", "Optional: the row added after each. Default: start_padding.")
    .Output(0, "data_out", "The rows and the pads.")
    .Output(1, "lengths_out", "Optional: the new lengths.");
OPERATOR_SCHEMA(RemovePadding)
    .NumInputs(1, 2)
    .FillUsing(DescribePadding)
    .SetDoc("Removes the first and last rows of each segment.")
    .Input(0, "data_in", "Rows of any type.")
    .Output(0, "data_out", "The other rows.")
    .Output(1, "lengths_out", "Optional: the new lengths.");
OPERATOR_SCHEMA(GatherPadding)
    .NumInputs(1, 2)
    .FillUsing(DescribePadding)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      if (!dims.empty()) dims.erase(dims.begin());
      return std::vector<TensorShape>(def.output_size(),
                                      CreateTensorShape(dims, in[0].data_type()));
    })
    .SetDoc("The sum of the first rows of all segments, and the sum of the last rows.")
    .Input(0, "data_in", "Rows of float, double, int32 or int64.")
    .Output(0, "padding_sum",
            "The sum of the first rows; of the first and last rows if it is the only output.")
    .Output(1, "end_padding_sum", "Optional: the sum of the last rows.");
REGISTER_GRADIENT(AddPadding, GetAddPaddingGradient);
REGISTER_GRADIENT(RemovePadding, GetRemovePaddingGradient);
SHOULD_NOT_DO_GRADIENT(GatherPadding);

}  // namespace caffe2
