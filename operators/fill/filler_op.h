// The base of operators that make a tensor of a given shape.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"

namespace caffe2 {

// The shape of a filler's output. Without an input it is the argument `shape`. With an input it is
// the shape of the input or, with input_as_shape, the values of the input; in both cases followed
// by `extra_shape`.
class FillerShape {
 public:
  // Throws EnforceNotMet for arguments that contradict each other.
  FillerShape(const ArgumentHelper& arguments, bool has_input);

  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<int64_t>& extra_shape() const { return extra_shape_; }
  bool input_as_shape() const { return input_as_shape_; }
  // Sets the output's shape; `input` may be null. With input_as_shape it must be a one-dimensional
  // tensor of int64 or int32, on any device. Throws EnforceNotMet if it is not, or if a dimension
  // is negative.
  void Resize(const Tensor* input, Tensor* output) const;

 private:
  std::vector<int64_t> shape_, extra_shape_;
  bool input_as_shape_;
};

// Sets the output's shape, then calls Fill.
template <class Context>
class FillerOp : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  FillerOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        shape_(ArgumentHelper(this->debug_def()), this->InputSize() > 0) {}

  bool RunOnDevice() override {
    Tensor* output = Output(0);
    shape_.Resize(InputSize() > 0 ? &this->template Input<Tensor>(0) : nullptr, output);
    return Fill(output);
  }

 protected:
  // Writes all elements of the output. Its shape is set already.
  virtual bool Fill(Tensor* output) = 0;

 private:
  FillerShape shape_;
};

// Shape inference of a filler whose elements have the given type; the `dtype` argument, if
// `read_dtype`, overrides it.
OpSchema::TensorInference InferFiller(TensorProto::DataType type, bool read_dtype = false);
// Describes the arguments, input and output that all fillers have.
void DescribeFiller(OpSchema& schema);

// The data type in the argument `name`, which Caffe2 writes as a number or as a name ("float",
// "INT32"). Throws EnforceNotMet for other values.
TensorProto::DataType DataTypeArgument(const ArgumentHelper& arguments, const std::string& name,
                                       TensorProto::DataType default_type);

}  // namespace caffe2
