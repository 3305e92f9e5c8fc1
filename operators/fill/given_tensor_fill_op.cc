// Tensors whose values are arguments, as exported models store parameters.
#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"
#include "operators/fill/filler_op.h"

namespace caffe2 {
namespace {

// `values` as a host tensor of T.
template <typename T>
Tensor ReadValues(const ArgumentHelper& arguments) {
  const auto read = [&arguments] {
    if constexpr (std::is_same_v<T, ArithmeticType<T>>) {
      return arguments.GetRepeatedArgument<T>("values");
    } else {
      return arguments.GetRepeatedArgument<float>("values");
    }
  };
  const auto values = read();
  Tensor tensor(CPU);
  tensor.Resize(static_cast<int64_t>(values.size()));
  T* data = tensor.mutable_data<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, ArithmeticType<T>>) {
      data[i] = values[i];
    } else {
      data[i] = Narrow<T>(values[i]);
    }
  }
  return tensor;
}

Tensor ReadValues(const ArgumentHelper& arguments, TensorProto::DataType type) {
  switch (type) {
    case TensorProto::FLOAT:
      return ReadValues<float>(arguments);
    case TensorProto::DOUBLE:
      return ReadValues<double>(arguments);
    case TensorProto::FLOAT16:
      return ReadValues<float16>(arguments);
    case TensorProto::BFLOAT16:
      return ReadValues<bfloat16>(arguments);
    case TensorProto::BOOL:
      return ReadValues<bool>(arguments);
    case TensorProto::INT16:
      return ReadValues<int16_t>(arguments);
    case TensorProto::INT32:
      return ReadValues<int32_t>(arguments);
    case TensorProto::INT64:
      return ReadValues<int64_t>(arguments);
    case TensorProto::STRING:
      return ReadValues<std::string>(arguments);
    default:
      CAFFE_THROW("argument dtype must be a type that can be filled, found ",
                  TensorProto::DataType_Name(type));
  }
}

// The bytes of the single string in `values`.
Tensor ReadBytes(const ArgumentHelper& arguments) {
  const auto values = arguments.GetRepeatedArgument<std::string>("values");
  CAFFE_ENFORCE(values.size() == 1, "argument values must be one string of bytes, found ",
                values.size(), " strings");
  return Tensor({static_cast<int64_t>(values[0].size())},
                std::vector<uint8_t>(values[0].begin(), values[0].end()));
}

// UINT8 reads a string of bytes. For FLOAT the argument dtype takes precedence.
template <class Context, TensorProto::DataType type>
class GivenTensorFillOp final : public FillerOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  GivenTensorFillOp(const OperatorDef& def, Workspace* ws)
      : FillerOp<Context>(def, ws), values_(Read(ArgumentHelper(this->debug_def()))) {}

 protected:
  bool Fill(Tensor* output) override {
    CAFFE_ENFORCE(output->numel() == values_.numel(), "argument values must have ", output->numel(),
                  " values for the shape ", ShapeString(output->sizes()), ", found ",
                  values_.numel());
    context_.CopyItems(values_.dtype(), values_.numel(), values_.raw_data(),
                       output->raw_mutable_data(values_.dtype()));
    return true;
  }

 private:
  static Tensor Read(const ArgumentHelper& arguments) {
    if constexpr (type == TensorProto::UINT8) return ReadBytes(arguments);
    const bool read_dtype = type == TensorProto::FLOAT;
    return ReadValues(arguments, read_dtype ? DataTypeArgument(arguments, "dtype", type) : type);
  }

  Tensor values_;
};

constexpr char kValuesText[] = "The elements, in row-major order; as many as the shape has.";
constexpr char kTypedValuesText[] =
    "(of type dtype) The elements, in row-major order; as many as the shape has.";

template <typename T>
void DescribeGiven(OpSchema& schema) {
  DescribeFiller(schema);
  schema.ArgList<T>("values", kValuesText, true);
}

template <TensorProto::DataType type>
using GivenFill = GivenTensorFillOp<CPUContext, type>;

}  // namespace

REGISTER_CPU_OPERATOR(GivenTensorFill, GivenFill<TensorProto::FLOAT>);
REGISTER_CPU_OPERATOR(GivenTensorDoubleFill, GivenFill<TensorProto::DOUBLE>);
REGISTER_CPU_OPERATOR(GivenTensorBoolFill, GivenFill<TensorProto::BOOL>);
REGISTER_CPU_OPERATOR(GivenTensorInt16Fill, GivenFill<TensorProto::INT16>);
REGISTER_CPU_OPERATOR(GivenTensorIntFill, GivenFill<TensorProto::INT32>);
REGISTER_CPU_OPERATOR(GivenTensorInt64Fill, GivenFill<TensorProto::INT64>);
REGISTER_CPU_OPERATOR(GivenTensorStringFill, GivenFill<TensorProto::STRING>);
REGISTER_CPU_OPERATOR(GivenTensorByteStringToUInt8Fill, GivenFill<TensorProto::UINT8>);

OPERATOR_SCHEMA(GivenTensorFill)
    .FillUsing(DescribeFiller)
    .Arg("values", kTypedValuesText, true)
    .TensorInferenceFunction(InferFiller(TensorProto::FLOAT, true))
    .SetDoc("Fills the output with the floats of `values`.")
    .Arg<TensorProto::DataType>("dtype", "(default FLOAT) The type of the output and of `values`.");
OPERATOR_SCHEMA(GivenTensorDoubleFill)
    .FillUsing(DescribeGiven<float>)
    .TensorInferenceFunction(InferFiller(TensorProto::DOUBLE))
    .SetDoc("Fills the output with `values` as doubles.");
OPERATOR_SCHEMA(GivenTensorBoolFill)
    .FillUsing(DescribeGiven<int>)
    .TensorInferenceFunction(InferFiller(TensorProto::BOOL))
    .SetDoc("Fills the output with the truth values of `values`.");
OPERATOR_SCHEMA(GivenTensorInt16Fill)
    .FillUsing(DescribeGiven<int>)
    .TensorInferenceFunction(InferFiller(TensorProto::INT16))
    .SetDoc("Fills the output with the int16 numbers of `values`.")
    .CpuOnly(cpu_only::kOnce);
OPERATOR_SCHEMA(GivenTensorIntFill)
    .FillUsing(DescribeGiven<int>)
    .TensorInferenceFunction(InferFiller(TensorProto::INT32))
    .SetDoc("Fills the output with the int32 numbers of `values`.");
OPERATOR_SCHEMA(GivenTensorInt64Fill)
    .FillUsing(DescribeGiven<int>)
    .TensorInferenceFunction(InferFiller(TensorProto::INT64))
    .SetDoc("Fills the output with the int64 numbers of `values`.");
OPERATOR_SCHEMA(GivenTensorStringFill)
    .FillUsing(DescribeGiven<std::string>)
    .TensorInferenceFunction(InferFiller(TensorProto::STRING))
    .SetDoc("Fills the output with the strings of `values`.")
    .CpuOnly(cpu_only::kFiles);
OPERATOR_SCHEMA(GivenTensorByteStringToUInt8Fill)
    .FillUsing(DescribeGiven<std::string>)
    .TensorInferenceFunction(InferFiller(TensorProto::UINT8))
    .SetDoc("Fills the output with the bytes of the one string in `values`.")
    .CpuOnly(cpu_only::kFiles);

NO_GRADIENT(GivenTensorFill);
NO_GRADIENT(GivenTensorDoubleFill);
NO_GRADIENT(GivenTensorBoolFill);
NO_GRADIENT(GivenTensorInt16Fill);
NO_GRADIENT(GivenTensorIntFill);
NO_GRADIENT(GivenTensorInt64Fill);
NO_GRADIENT(GivenTensorStringFill);
NO_GRADIENT(GivenTensorByteStringToUInt8Fill);

}  // namespace caffe2
