// UnsafeCoalesce: tensors moved into one piece of memory. DataCouple and AsyncNetBarrier: operators
// that do nothing, but that a net runs behind all that writes their inputs.
#include "caffe2/core/operator.h"
#include "operators/row_copier.h"

namespace caffe2 {
namespace {

class UnsafeCoalesceOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const TypeMeta meta = Input(0).dtype();
    int64_t total = 0;
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE(Input(i).has_data() && Input(i).dtype() == meta, "input ", i, " is ",
                    Input(i).DebugString(), ", and must hold ", meta.name());
      total += Input(i).numel();
    }
    if (LiesTogether(total)) return true;
    // Never into the old piece: inputs may lie there at other places.
    Tensor joined({total}, CPU);
    char* to = static_cast<char*>(joined.raw_mutable_data(meta));
    for (int i = 0; i < InputSize(); ++i) {
      CopyItems(meta, Input(i).numel(), Input(i).raw_data(), to);
      to += Input(i).nbytes();
    }
    int64_t offset = 0;
    for (int i = 0; i < InputSize(); ++i) {
      const std::vector<int64_t> dims = Input(i).sizes();
      Output(i)->ShareData(joined.View(offset, dims));
      offset += Output(i)->numel();
    }
    Output(InputSize())->ShareData(joined);
    return true;
  }

 private:
  // True if an earlier run has left all inputs where they belong.
  bool LiesTogether(int64_t total) {
    const Tensor& joined = *Output(InputSize());
    if (joined.numel() != total || joined.dtype() != Input(0).dtype()) return false;
    const char* place = static_cast<const char*>(joined.raw_data());
    for (int i = 0; i < InputSize(); place += Input(i).nbytes(), ++i) {
      if (Input(i).numel() > 0 && Input(i).raw_data() != place) return false;
    }
    return true;
  }
};

class PassThroughOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override { return true; }
};

void DescribePassThrough(OpSchema& schema) {
  schema.NumInputs(1, 1 << 30)
      .NumOutputs(1, 1 << 30)
      .EnforceOneToOneInplace()
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>(in.begin(), in.begin() + def.output_size());
      })
      .Input(0, "input", "A tensor of any type; more may follow.")
      .Output(0, "output", "The same blobs, unchanged.");
}

}  // namespace

REGISTER_CPU_OPERATOR(UnsafeCoalesce, UnsafeCoalesceOp);
REGISTER_CPU_OPERATOR(DataCouple, PassThroughOp);
REGISTER_CPU_OPERATOR(AsyncNetBarrier, PassThroughOp);
OPERATOR_SCHEMA(UnsafeCoalesce)
    .NumInputs(1, 1 << 30)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs == inputs + 1; })
    .AllowOneToOneInplace()
    .EnforceInplace([](int input, int output) { return input == output; })
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out = in;
      int64_t total = 0;
      for (const TensorShape& shape : in) total += NumelOf(shape);
      out.push_back(CreateTensorShape({total}, in[0].data_type()));
      return out;
    })
    .SetDoc(
        "Moves tensors into one piece of memory, one behind the other, of which they and the last "
        "output are views from then on: what is written to one is seen in the other, until one is "
        "given another size.")
    .Input(0, "input", "A tensor of any type; more may follow, of the same type.")
    .Output(0, "output",
            "The same blobs. The last output, behind them, is one-dimensional and holds the "
            "elements of all.");
OPERATOR_SCHEMA(DataCouple)
    .FillUsing(DescribePassThrough)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs <= inputs; })
    .SetDoc(
        "Does nothing: makes operators that read an output run behind those that write any of the "
        "inputs.");
OPERATOR_SCHEMA(AsyncNetBarrier)
    .FillUsing(DescribePassThrough)
    .NumInputsOutputs([](int inputs, int outputs) { return outputs == inputs; })
    .Arg("cross_device", "Not read: a net waits for the inputs on all devices.")
    .SetDoc(
        "Does nothing: makes operators that read an output run behind those that write any of the "
        "inputs.");
SHOULD_NOT_DO_GRADIENT(UnsafeCoalesce);
SHOULD_NOT_DO_GRADIENT(DataCouple);
SHOULD_NOT_DO_GRADIENT(AsyncNetBarrier);

}  // namespace caffe2
