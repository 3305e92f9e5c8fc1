// Writes blobs that hold a list of tensors, as Caffe2 does: as a BlobProto whose content is a
// TensorProtos.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/tensor.h"

namespace caffe2 {

// Writes the tensors as the only record of `blob`; the record has the blob's type.
void SerializeTensorList(const Blob& blob, const std::string& name,
                         const std::vector<const Tensor*>& tensors,
                         const SerializationAcceptor& acceptor);
// Reads the tensors of such a record. Throws EnforceNotMet, naming the blob, if it holds no
// tensors.
std::vector<Tensor> DeserializeTensorList(const BlobProto& proto);

}  // namespace caffe2
