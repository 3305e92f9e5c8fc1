// LengthsPad and LengthsSplit: pads segments to one length, and splits lengths into parts.
#include "operators/common/cpu_only.h"
#include "operators/segment/lengths_rows_op.h"

namespace caffe2 {
namespace {

class LengthsSplitOp final : public Operator<CPUContext> {
 public:
  LengthsSplitOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), parts_(GetSingleArgument<int64_t>("n_split", 0)) {
    CAFFE_ENFORCE(InputSize() == 2 || parts_ > 0,
                  "the number of parts comes from input 1 or the argument n_split, which must be "
                  "positive");
  }
  bool RunOnDevice() override {
    const Segments segments = Segments::FromLengths(Input(0));
    int64_t parts = parts_;
    if (InputSize() == 2) {
      CAFFE_ENFORCE(Input(1).numel() == 1, "n_split must have one element, found ",
                    Input(1).numel());
      parts = *Input(1).data<int32_t>();
      CAFFE_ENFORCE(parts > 0, "n_split must be positive, found ", parts);
    }
    Output(0)->Resize(CheckedNumel({segments.count(), parts}));
    int32_t* y = Output(0)->mutable_data<int32_t>();
    for (int64_t s = 0; s < segments.count(); ++s) {
      const int64_t each = segments.length(s) / parts, rest = segments.length(s) % parts;
      for (int64_t p = 0; p < parts; ++p) *y++ = static_cast<int32_t>(each + (p < rest ? 1 : 0));
    }
    return true;
  }

 private:
  int64_t parts_;
};

}  // namespace

REGISTER_CPU_OPERATOR(LengthsPad, LengthsPadOp<CPUContext>);
REGISTER_CPU_OPERATOR(LengthsSplit, LengthsSplitOp);
OPERATOR_SCHEMA(LengthsPad)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() == 0 || in[1].dims_size() != 1) {
        return std::vector<TensorShape>{UnknownTensorShape()};
      }
      std::vector<TensorShape> out{in[0]};
      out[0].set_dims(
          0, in[1].dims(0) * ArgumentHelper(def).GetSingleArgument<int64_t>("target_length", -1));
      return out;
    })
    .SetDoc("Pads each segment of rows to one length. A longer segment is an error.")
    .Arg<int>("target_length", "(>= 0) The length of all segments.", true)
    .Arg<float>("padding_value", "(default -1) The value of the new rows.")
    .Input(0, "DATA", "Rows of float, double, int32 or int64.")
    .Input(1, "LENGTHS", "int32 or int64: the number of rows of each segment.")
    .Output(0, "OUTPUT", "target_length rows for each segment.");
OPERATOR_SCHEMA(LengthsSplit)
    .NumInputs(1, 2)
    .NumOutputs(1)
    .SetDoc(
        "Splits each length into parts that are as equal as possible, the larger ones first: [9, "
        "4] in 3 parts becomes [3, 3, 3, 2, 1, 1].")
    .Arg<int>("n_split", "(> 0) The number of parts; not read if input 1 holds it.")
    .Input(0, "LENGTHS", "int32 or int64, one-dimensional.")
    .Input(1, "n_split", "Optional: the number of parts, one int32, in host memory.")
    .Output(0, "Y", "int32: the parts of all lengths.")
    .CpuOnly(cpu_only::kLengths);
SHOULD_NOT_DO_GRADIENT(LengthsPad);
SHOULD_NOT_DO_GRADIENT(LengthsSplit);

}  // namespace caffe2
