#include "operators/fill/constant_fill_op.h"

#include <cstring>

#include "caffe2/core/device_backend.h"
#include "operators/common/element_type.h"

namespace caffe2 {

TensorProto::DataType ConstantFillType(const OperatorDef& def) {
  const Argument* value = FindArgument(def, "value");
  const bool integer = value != nullptr && value->has_i() && !value->has_f();
  return DataTypeArgument(ArgumentHelper(def), "dtype",
                          integer ? TensorProto::INT64 : TensorProto::FLOAT);
}

template <typename T>
void ConstantFiller::Set(T value) {
  meta_ = TypeMeta::Make<T>();
  static_assert(sizeof(T) <= sizeof(bits_));
  std::memcpy(&bits_, &value, sizeof(T));
  fill_ = [](const ConstantFiller& filler, int64_t n, void* data) {
    T value;
    std::memcpy(&value, &filler.bits_, sizeof(T));
    std::fill_n(static_cast<T*>(data), n, value);
  };
}

void ConstantFiller::Read(const ArgumentHelper& arguments, TensorProto::DataType type) {
  const auto read = [&arguments]<typename T>(T zero) {
    return arguments.GetSingleArgument<T>("value", zero);
  };
  switch (type) {
    case TensorProto::FLOAT:
      return Set(read(0.f));
    case TensorProto::DOUBLE:
      return Set(read(0.0));
    case TensorProto::FLOAT16:
      return Set(ToFloat16(read(0.f)));
    case TensorProto::BFLOAT16:
      return Set(ToBFloat16(read(0.f)));
    case TensorProto::BOOL:
      return Set(read(false));
    case TensorProto::INT8:
      return Set(read(int8_t{0}));
    case TensorProto::INT16:
      return Set(read(int16_t{0}));
    case TensorProto::INT32:
      return Set(read(int32_t{0}));
    case TensorProto::INT64:
      return Set(read(int64_t{0}));
    case TensorProto::UINT8:
    case TensorProto::BYTE:
      return Set(read(uint8_t{0}));
    case TensorProto::UINT16:
      return Set(read(uint16_t{0}));
    case TensorProto::STRING:
      text_ = read(std::string());
      meta_ = TypeMeta::Make<std::string>();
      fill_ = [](const ConstantFiller& filler, int64_t n, void* data) {
        std::fill_n(static_cast<std::string*>(data), n, filler.text_);
      };
      return;
    default:
      CAFFE_THROW("argument dtype must be a type that can be filled, found ",
                  TensorProto::DataType_Name(type));
  }
}

void ConstantFiller::SetValue(const Tensor& on_any_device) {
  Tensor copy(CPU);
  const Tensor& value = OnHost(on_any_device, &copy);
  CAFFE_ENFORCE(value.numel() == 1 && value.dtype() == meta_,
                "input 1, the value, must be one element of ", meta_.name(), ", found ",
                value.DebugString());
  if (meta_.Match<std::string>()) {
    text_ = *value.data<std::string>();
  } else {
    std::memcpy(&bits_, value.raw_data(), meta_.itemsize());
  }
}

template <>
void ConstantFillOp<CPUContext>::FillOnDevice(int64_t n, void* data) {
  filler_.Fill(n, data);
}

REGISTER_CPU_OPERATOR(ConstantFill, ConstantFillOp<CPUContext>);
OPERATOR_SCHEMA(ConstantFill)
    .FillUsing(DescribeFiller)
    .NumInputs(0, 2)
    .Input(1, "value", "Optional: the value, one element of type `dtype`, instead of the argument.")
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return InferFiller(ConstantFillType(def))(def, in);
    })
    .SetDoc("Fills the output with one value.")
    .Arg("value", "(of type dtype, default 0) The value.")
    .Arg<TensorProto::DataType>(
        "dtype", "The type of the output. Default: FLOAT, or INT64 if `value` is an integer.");
NO_GRADIENT(ConstantFill);

}  // namespace caffe2
