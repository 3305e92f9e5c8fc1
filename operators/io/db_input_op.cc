#include "operators/io/db_input_op.h"

namespace caffe2 {

InputPipelineRegistry* InputPipelines() {
  static auto* registry = new InputPipelineRegistry;
  return registry;
}

std::unique_ptr<db::BatchPipeline> MakeInputPipeline(const OperatorBase& op, uint64_t seed,
                                                     db::BatchUploader* uploader) {
  auto pipeline = InputPipelines()->Create(op.type(), op, seed, uploader);
  CAFFE_ENFORCE(pipeline != nullptr, "no library of this program decodes the input of operator ",
                op.type(), "; images need libcaffe2_image");
  return pipeline;
}

}  // namespace caffe2
