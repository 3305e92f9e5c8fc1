#include "operators/fill/filler_op.h"

#include <algorithm>
#include <cctype>

#include "operators/common/shape_input.h"

namespace caffe2 {

FillerShape::FillerShape(const ArgumentHelper& arguments, bool has_input)
    : shape_(arguments.GetRepeatedArgument<int64_t>("shape")),
      extra_shape_(arguments.GetRepeatedArgument<int64_t>("extra_shape")),
      input_as_shape_(arguments.GetSingleArgument<bool>("input_as_shape", false)) {
  CAFFE_ENFORCE(!arguments.HasSingleArgumentOfType<int64_t>("shape"),
                "the argument shape must be a list of dimensions, not one number");
  if (has_input) {
    CAFFE_ENFORCE(shape_.empty(), "the argument shape and an input cannot be used together");
  } else {
    CAFFE_ENFORCE(extra_shape_.empty(), "the argument extra_shape needs an input");
    CAFFE_ENFORCE(!input_as_shape_, "the argument input_as_shape needs an input");
    CheckedNumel(shape_);
  }
}

void FillerShape::Resize(const Tensor* input, Tensor* output) const {
  if (input == nullptr) {
    output->Resize(shape_);
    return;
  }
  if (!input_as_shape_ && extra_shape_.empty()) {
    output->ResizeLike(*input);
    return;
  }
  std::vector<int64_t> dims =
      input_as_shape_ ? ReadDimensions(*input, "the input that holds the shape") : input->sizes();
  dims.insert(dims.end(), extra_shape_.begin(), extra_shape_.end());
  output->Resize(dims);
}

OpSchema::TensorInference InferFiller(TensorProto::DataType type, bool read_dtype) {
  return [type, read_dtype](const OperatorDef& def, const std::vector<TensorShape>& in) {
    const ArgumentHelper arguments(def);
    const FillerShape filler(arguments, !in.empty());
    if (filler.input_as_shape()) return std::vector<TensorShape>{UnknownTensorShape()};
    std::vector<int64_t> dims = in.empty() ? filler.shape() : GetDimsVector(in[0]);
    dims.insert(dims.end(), filler.extra_shape().begin(), filler.extra_shape().end());
    return std::vector<TensorShape>{
        CreateTensorShape(dims, read_dtype ? DataTypeArgument(arguments, "dtype", type) : type)};
  };
}

void DescribeFiller(OpSchema& schema) {
  schema.NumInputs(0, 1)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .ArgList<int>("shape",
                    "(each >= 0) Shape of the output; without an input only. Default: a scalar.")
      .ArgList<int>("extra_shape", "Dimensions appended to the dimensions of the input.")
      .Arg<bool>("input_as_shape",
                 "1: the values of the input, a one-dimensional tensor of int64 or int32 on any "
                 "device, are the shape, which extra_shape continues. Default 0: the output has "
                 "the shape of the input, which extra_shape continues.")
      .Input(0, "input", "Optional: its shape or, with input_as_shape, its values give the shape.")
      .Output(0, "output", "The filled tensor.");
}

TensorProto::DataType DataTypeArgument(const ArgumentHelper& arguments, const std::string& name,
                                       TensorProto::DataType default_type) {
  if (!arguments.HasArgument(name)) return default_type;
  int number = TensorProto::UNDEFINED;
  if (arguments.HasSingleArgumentOfType<std::string>(name)) {
    std::string text = arguments.GetSingleArgument<std::string>(name, "");
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    TensorProto::DataType type;
    CAFFE_ENFORCE(TensorProto::DataType_Parse(text, &type), "argument ", name,
                  " must be a data type, found ", text);
    number = type;
  } else {
    number = arguments.GetSingleArgument<int>(name, default_type);
  }
  CAFFE_ENFORCE(TensorProto::DataType_IsValid(number) && number != TensorProto::UNDEFINED,
                "argument ", name, " must be a data type, found ", number);
  return static_cast<TensorProto::DataType>(number);
}

}  // namespace caffe2
