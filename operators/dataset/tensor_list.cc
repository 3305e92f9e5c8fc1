#include "operators/dataset/tensor_list.h"

namespace caffe2 {

void SerializeTensorList(const Blob& blob, const std::string& name,
                         const std::vector<const Tensor*>& tensors,
                         const SerializationAcceptor& acceptor) {
  TensorProtos protos;
  for (const Tensor* tensor : tensors) {
    SerializeTensor(*tensor, name, 0, tensor->numel(), protos.add_protos());
  }
  BlobProto proto;
  proto.set_name(name);
  proto.set_type(blob.TypeName());
  // Protobuf returns an empty text for a message that it cannot write.
  proto.set_content(protos.SerializeAsString());
  CAFFE_ENFORCE(tensors.empty() || !proto.content().empty(), "the ", tensors.size(),
                " tensors of blob \"", name, "\" are larger than 2 GB, the limit of protobuf");
  acceptor(name, proto.SerializeAsString());
}

std::vector<Tensor> DeserializeTensorList(const BlobProto& proto) {
  TensorProtos protos;
  CAFFE_ENFORCE(protos.ParseFromString(proto.content()), "blob \"", proto.name(),
                "\" holds no tensors");
  std::vector<Tensor> tensors(protos.protos_size());
  for (int i = 0; i < protos.protos_size(); ++i) DeserializeTensor(protos.protos(i), &tensors[i]);
  return tensors;
}

}  // namespace caffe2
