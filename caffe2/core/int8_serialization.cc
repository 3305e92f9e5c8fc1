// Serializes quantized tensors: a BlobProto with a QTensorProto, whose bias is the zero point.
#include <cmath>
#include <limits>

#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/tensor_int8.h"

namespace caffe2 {
namespace {

using int8::Int8TensorCPU;

constexpr int kPrecision = 8;  // bits

template <typename T>
void WriteData(const Tensor& tensor, QTensorProto* proto) {
  const T* data = tensor.data<T>();
  *proto->mutable_data() = {data, data + tensor.numel()};
}

template <typename T>
void ReadData(const QTensorProto& proto, Tensor* tensor) {
  CAFFE_ENFORCE(static_cast<int64_t>(proto.data_size()) == tensor->numel(),
                "the quantized tensor \"", proto.name(), "\" must have ", tensor->numel(),
                " elements, found ", proto.data_size());
  T* data = tensor->mutable_data<T>();
  for (const int32_t value : proto.data()) {
    CAFFE_ENFORCE(static_cast<int32_t>(static_cast<T>(value)) == value, "value ", value,
                  " of the quantized tensor \"", proto.name(), "\" does not fit ",
                  TypeName<T>::Get());
    *data++ = static_cast<T>(value);
  }
}

class Int8TensorSerializer final : public BlobSerializer {
 public:
  void Serialize(const Blob& blob, const std::string& name, const SerializationAcceptor& acceptor,
                 const BlobSerializationOptions& /*options*/) override {
    const auto& tensor = blob.Get<Int8TensorCPU>();
    CAFFE_ENFORCE(tensor.t.has_data(), "tensor \"", name, "\" holds no data to serialize");
    BlobProto blob_proto;
    blob_proto.set_name(name);
    blob_proto.set_type(TypeName<Int8TensorCPU>::Get());
    QTensorProto* proto = blob_proto.mutable_qtensor();
    proto->set_name(name);
    for (const int64_t dim : tensor.t.sizes()) proto->add_dims(dim);
    proto->set_precision(kPrecision);
    proto->set_scale(tensor.scale);
    proto->set_bias(tensor.zero_point);
    proto->set_is_signed(false);
    proto->set_data_type(TypeMetaToDataType(tensor.t.dtype()));
    if (tensor.t.IsType<int32_t>()) {
      WriteData<int32_t>(tensor.t, proto);
    } else {
      WriteData<uint8_t>(tensor.t, proto);
    }
    acceptor(name, blob_proto.SerializeAsString());
  }

  void Deserialize(const BlobProto& blob_proto, Blob* blob) override {
    CAFFE_ENFORCE(blob_proto.has_qtensor(), "blob \"", blob_proto.name(), "\" of type ",
                  blob_proto.type(), " holds no quantized tensor");
    const QTensorProto& proto = blob_proto.qtensor();
    CAFFE_ENFORCE(std::abs(proto.bias()) <= kMaxZeroPoint &&
                      std::abs(proto.scale()) <= std::numeric_limits<float>::max(),
                  "the quantized tensor \"", proto.name(), "\" has scale ", proto.scale(),
                  " and zero point ", proto.bias(), ": out of range");
    auto* tensor = blob->GetMutable<Int8TensorCPU>();
    tensor->scale = static_cast<float>(proto.scale());
    tensor->zero_point = static_cast<int32_t>(proto.bias());
    tensor->t.Resize({proto.dims().begin(), proto.dims().end()});
    switch (proto.data_type()) {
      case TensorProto::INT32:
        ReadData<int32_t>(proto, &tensor->t);
        break;
      case TensorProto::UINT8:
        ReadData<uint8_t>(proto, &tensor->t);
        break;
      default:
        CAFFE_THROW("the quantized tensor \"", proto.name(), "\" has elements of type ",
                    TensorProto::DataType_Name(proto.data_type()), ", not UINT8 or INT32");
    }
  }

 private:
  static constexpr double kMaxZeroPoint = 1 << 30;  // well within int32
};

REGISTER_BLOB_SERIALIZER("Int8TensorCPU", Int8TensorSerializer);

}  // namespace
}  // namespace caffe2
