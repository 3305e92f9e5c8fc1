#include "operators/io/db_input_op.h"

namespace caffe2 {

InputDecoderRegistry* InputDecoders() {
  static auto* registry = new InputDecoderRegistry;
  return registry;
}

std::unique_ptr<InputDecoder> MakeInputDecoder(const OperatorBase& op, uint64_t seed,
                                               db::BatchUploader* uploader) {
  auto decoder = InputDecoders()->Create(op.type(), op, seed, uploader);
  CAFFE_ENFORCE(decoder != nullptr, "no library of this program decodes the input of operator ",
                op.type(), "; that of images is libcaffe2_image");
  return decoder;
}

}  // namespace caffe2
