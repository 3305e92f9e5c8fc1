#include "caffe2/core/operator.h"
#include "caffe2/core/tensor_int8.h"

namespace caffe2 {

TensorShape GetTensorShapeOfBlob(const Blob& blob) {
  const Tensor* tensor = BlobPlainOrInt8Tensor(blob);
  if (tensor == nullptr || !tensor->dtype()) return UnknownTensorShape();
  return CreateTensorShape(tensor->sizes(), TypeMetaToDataType(tensor->dtype()));
}

std::map<std::string, TensorShape> InferBlobShapesAndTypes(std::map<std::string, TensorShape> known,
                                                           const std::vector<const NetDef*>& nets) {
  const std::map<std::string, TensorShape> given = known;
  for (const NetDef* net : nets) {
    for (const OperatorDef& op : net->op()) {
      std::vector<TensorShape> inputs;
      for (const std::string& input : op.input()) {
        auto it = known.find(input);
        inputs.push_back(it != known.end() ? it->second : UnknownTensorShape());
      }
      const OpSchema* schema = OpSchemaRegistry::Schema(op.type());
      const std::vector<TensorShape> outputs =
          schema ? schema->InferTensor(op, inputs)
                 : std::vector<TensorShape>(op.output_size(), UnknownTensorShape());
      for (int i = 0; i < op.output_size(); ++i) {
        auto it = given.find(op.output(i));
        known[op.output(i)] =
            outputs[i].unknown_shape() && it != given.end() ? it->second : outputs[i];
        known[op.output(i)].set_name(op.output(i));
      }
    }
  }
  return known;
}

}  // namespace caffe2
