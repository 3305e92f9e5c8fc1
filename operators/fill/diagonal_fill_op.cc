#include "operators/fill/constant_fill_op.h"

namespace caffe2 {
namespace {

template <class Context>
class DiagonalFillOp final : public FillerOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DiagonalFillOp(const OperatorDef& def, Workspace* ws)
      : FillerOp<Context>(def, ws),
        value_(ArgumentHelper(this->debug_def()), ConstantFillType(this->debug_def())),
        zero_(ArgumentHelper(), ConstantFillType(this->debug_def())) {}

 protected:
  bool Fill(Tensor* output) override {
    CAFFE_ENFORCE(output->dim() >= 2,
                  "the output of DiagonalFill must have at least two axes, found shape ",
                  ShapeString(output->sizes()));
    int64_t entries = output->size(0), step = 0, stride = 1;
    for (int d = output->dim() - 1; d >= 0; --d) {
      CAFFE_ENFORCE(output->dim() == 2 || output->size(d) == output->size(0),
                    "an output of more than two axes must have equal dimensions, found shape ",
                    ShapeString(output->sizes()));
      entries = std::min(entries, output->size(d));
      step += stride;
      stride *= output->size(d);
    }
    char* data = static_cast<char*>(output->raw_mutable_data(value_.meta()));
    zero_.Fill(output->numel(), data);
    for (int64_t i = 0; i < entries; ++i) {
      value_.Fill(1, data + i * step * value_.meta().itemsize());
    }
    return true;
  }

 private:
  ConstantFiller value_, zero_;
};

}  // namespace

REGISTER_CPU_OPERATOR(DiagonalFill, DiagonalFillOp<CPUContext>);
OPERATOR_SCHEMA(DiagonalFill)
    .FillUsing(DescribeFiller)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return InferFiller(ConstantFillType(def))(def, in);
    })
    .SetDoc(
        "Fills the main diagonal of a matrix, or of a tensor whose dimensions are all equal, "
        "with one value, and the rest with zeros.")
    .Arg("value", "(of type dtype, default 0) The value.")
    .Arg<TensorProto::DataType>(
        "dtype", "The type of the output. Default: FLOAT, or INT64 if `value` is an integer.");
NO_GRADIENT(DiagonalFill);

}  // namespace caffe2
