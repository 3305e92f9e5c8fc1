#include <unordered_set>

#include "operators/fill/filler_op.h"

namespace caffe2 {
namespace {

template <class Context>
class UniqueUniformFillOp final : public FillerOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  UniqueUniformFillOp(const OperatorDef& def, Workspace* ws)
      : FillerOp<Context>(def, ws),
        type_(DataTypeArgument(ArgumentHelper(this->debug_def()), "dtype", TensorProto::INT32)) {
    CAFFE_ENFORCE(type_ == TensorProto::INT32 || type_ == TensorProto::INT64,
                  "argument dtype must be INT32 or INT64, found ",
                  TensorProto::DataType_Name(type_));
  }

 protected:
  bool Fill(Tensor* output) override {
    return type_ == TensorProto::INT32 ? FillWith<int32_t>(output) : FillWith<int64_t>(output);
  }

 private:
  template <typename T>
  bool FillWith(Tensor* output) {
    const int64_t min = this->template GetSingleArgument<T>("min", 0);
    const int64_t max = this->template GetSingleArgument<T>("max", 0);
    CAFFE_ENFORCE(min <= max, "min (", min, ") is larger than max (", max, ")");
    std::unordered_set<T> used;
    if (InputSize() >= 2) {
      const Tensor& avoid = Input(1);
      const T* values = avoid.data<T>();
      for (int64_t i = 0; i < avoid.numel(); ++i) {
        if (values[i] >= min && values[i] <= max) used.insert(values[i]);
      }
    }
    // The number of values - 1, which fits even if the range is all of int64.
    const uint64_t span = static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
    const uint64_t wanted = static_cast<uint64_t>(output->numel());
    CAFFE_ENFORCE(wanted == 0 || (used.size() <= span && wanted - 1 <= span - used.size()),
                  "there are fewer than ", wanted, " different values from ", min, " to ", max,
                  ", without the ", used.size(), " to avoid");
    T* data = output->template mutable_data<T>();
    for (int64_t i = 0; i < output->numel(); ++i) {
      do {
        const uint64_t offset = span == UINT64_MAX ? RandomWord() : RandomBelow(span + 1);
        data[i] = static_cast<T>(static_cast<uint64_t>(min) + offset);
      } while (!used.insert(data[i]).second);
    }
    return true;
  }
  uint64_t RandomBelow(uint64_t bound) { return context_.random().UniformInt(bound); }
  uint64_t RandomWord() {
    const uint64_t high = context_.random()();
    return (high << 32) | context_.random()();
  }

  TensorProto::DataType type_;
};

}  // namespace

REGISTER_CPU_OPERATOR(UniqueUniformFill, UniqueUniformFillOp<CPUContext>);
OPERATOR_SCHEMA(UniqueUniformFill)
    .FillUsing(DescribeFiller)
    .NumInputs(0, 2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return InferFiller(TensorProto::INT32, true)(def, in);
    })
    .SetDoc(
        "Fills the output with different integers drawn uniformly from min to max, both "
        "included.")
    .Arg<int>("min", "(<= max, default 0) Smallest number.")
    .Arg<int>("max", "(default 0) Largest number.")
    .Arg<TensorProto::DataType>("dtype", "(default INT32) INT32 or INT64.")
    .Input(1, "avoid", "Optional: numbers that must not occur, of the output's type.");
NO_GRADIENT(UniqueUniformFill);

}  // namespace caffe2
