#include "operators/elementwise/binary_op.h"

namespace caffe2 {

OpSchema::TensorInference InferBinary(TensorProto::DataType type) {
  return [type](const OperatorDef& def, const std::vector<TensorShape>& in) {
    const BroadcastRule rule{ArgumentHelper(def)};
    return std::vector<TensorShape>{
        CreateTensorShape(rule.OutputShape(GetDimsVector(in.at(0)), GetDimsVector(in.at(1))),
                          type == TensorProto::UNDEFINED ? in[0].data_type() : type)};
  };
}

void BinarySchema(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .AllowInplace({{0, 0}, {1, 0}})
      .TensorInferenceFunction(InferBinary())
      .Arg<int>(
          "broadcast",
          "1: the shape of B must be a contiguous part of the shape of A, at `axis`, or B has one "
          "element; the result has the shape of A. Default 0: shapes combine as in NumPy.")
      .Arg<int>("axis",
                "With broadcast=1: the dimension of A at which the shape of B begins. Default -1: "
                "B's shape is the end of A's.")
      .Arg<std::string>("axis_str", "In place of axis: one letter of `order`, for instance C.")
      .Arg<std::string>("order", "Meaning of the letters of axis_str. Default NCHW.")
      .Input(0, "A", "First operand.")
      .Input(1, "B", "Second operand, of A's type.")
      .Output(0, "C", "The result.");
}

void BinaryGradientSchema(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(2)
      .AllowInplace({{0, 0}, {0, 1}})
      .Arg<int>("broadcast", "As in the forward operator; so are axis, axis_str and order.")
      .Input(0, "dC", "Gradient of the result.")
      .Input(1, "A", "First operand of the forward operator.")
      .Input(2, "B", "Second operand of the forward operator.")
      .Output(0, "dA", "Gradient of A, in its shape.")
      .Output(1, "dB", "Gradient of B, in its shape.")
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in.at(1), in.at(2)};
      });
}

}  // namespace caffe2
