#include "caffe2/core/blob.h"

namespace caffe2 {

void Blob::ThrowWrongType(TypeMeta wanted) const {
  CAFFE_THROW("blob holds ", meta_.name(), " where ", wanted.name(), " is needed");
}

Tensor* BlobGetMutableTensor(Blob* blob, const Device& device) {
  if (blob->IsType<Tensor>()) {
    auto* tensor = blob->GetMutable<Tensor>();
    if (tensor->device() == device) [[likely]]
      return tensor;
  }
  return blob->Reset(std::make_unique<Tensor>(device));
}

}  // namespace caffe2
