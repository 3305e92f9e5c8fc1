#include "caffe2/core/type_meta.h"

#include <cxxabi.h>

#include <utility>
#include <vector>

namespace caffe2 {

std::string DemangleTypeName(const std::type_info& info) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(info.name(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : info.name();
}

namespace {
const std::vector<std::pair<TensorProto::DataType, TypeMeta>>& ElementTypes() {
  static const std::vector<std::pair<TensorProto::DataType, TypeMeta>> types = {
      {TensorProto::FLOAT, TypeMeta::Make<float>()},
      {TensorProto::INT32, TypeMeta::Make<int32_t>()},
      {TensorProto::UINT8, TypeMeta::Make<uint8_t>()},
      {TensorProto::BYTE, TypeMeta::Make<uint8_t>()},
      {TensorProto::STRING, TypeMeta::Make<std::string>()},
      {TensorProto::BOOL, TypeMeta::Make<bool>()},
      {TensorProto::INT8, TypeMeta::Make<int8_t>()},
      {TensorProto::UINT16, TypeMeta::Make<uint16_t>()},
      {TensorProto::INT16, TypeMeta::Make<int16_t>()},
      {TensorProto::INT64, TypeMeta::Make<int64_t>()},
      {TensorProto::FLOAT16, TypeMeta::Make<float16>()},
      {TensorProto::BFLOAT16, TypeMeta::Make<bfloat16>()},
      {TensorProto::DOUBLE, TypeMeta::Make<double>()},
  };
  return types;
}
}  // namespace

TensorProto::DataType TypeMetaToDataType(TypeMeta meta) {
  for (const auto& [type, element] : ElementTypes()) {
    if (element == meta) return type;
  }
  return TensorProto::UNDEFINED;
}

TypeMeta DataTypeToTypeMeta(TensorProto::DataType type) {
  for (const auto& [wire, element] : ElementTypes()) {
    if (wire == type) return element;
  }
  return {};
}

}  // namespace caffe2
