// How blobs that amount to a list of tensors are written: as a BlobProto whose content is a
// TensorProtos, as Caffe2 does.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/tensor.h"

namespace caffe2 {

// Writes the tensors as the one record of `blob`, whose type the record gets.
void SerializeTensorList(const Blob& blob, const std::string& name,
                         const std::vector<const Tensor*>& tensors,
                         const SerializationAcceptor& acceptor);
// The tensors of such a record. Throws EnforceNotMet, naming the blob, if it holds none.
std::vector<Tensor> DeserializeTensorList(const BlobProto& proto);

}  // namespace caffe2
